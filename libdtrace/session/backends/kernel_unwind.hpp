// SPDX-License-Identifier: MIT
// What the kernel module walks processes' stacks by (kmod/unwind.h): tables of the files whose
// text they have mapped.
//
// The table of a file as it is is made and given once. Processes are told of as soon as ustack() has met
// one in text that the module does not know, and each second that it meets them.
#pragma once

#include "libdtrace/session/backends/kernel_device.hpp"
#include "libdtrace/symbols/mapped_files.hpp"

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
    // 0: there is none
    std::uint32_t table_of(const MappedFiles& files, const Mapping& text);

    KernelDevice& device_;
    std::map<FileVersion, std::uint32_t> tables_;
    std::deque<pid_t> strangers_;
    std::uint64_t looked_at_ = 0;
};

} // namespace dt
