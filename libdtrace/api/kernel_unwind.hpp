// SPDX-License-Identifier: MIT
// What the kernel module walks processes' stacks by (kmod/unwind.h): tables of the files whose
// text they have mapped.
//
// A file's table is made and given once. Processes are told of as soon as ustack() has met
// one in text that the module does not know.
#pragma once

#include "libdtrace/api/kernel_device.hpp"
#include "libdtrace/symbols/process_maps.hpp"

#include <deque>
#include <map>

namespace dt {

class KernelUnwind {
public:
    explicit KernelUnwind(KernelDevice& device) : device_(device) {}

    // From now on the stacks of this process are walked by tables. Failures are told as
    // debug lines: frame pointers are what is left.
    void know(pid_t pid);
    // The same for those that were met; a little at a time, by the monotonic clock.
    void look(std::uint64_t now_ns);

private:
    std::uint32_t table_of(pid_t pid, const Mapping& text); // 0: there is none

    KernelDevice& device_;
    std::map<FileId, std::uint32_t> tables_;
    struct Told {
        std::vector<dtk_unwind_map> maps;
        std::uint64_t at_ns = 0;
    };
    std::map<pid_t, Told> told_;
    std::deque<pid_t> strangers_;
    std::uint64_t looked_at_ = 0;
};

} // namespace dt
