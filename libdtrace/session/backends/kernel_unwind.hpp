// SPDX-License-Identifier: MIT
// Gives the kernel module the tables with which it walks the stacks of processes
// (kmod/unwind.h). There is one table for each file whose text a process has mapped.
//
// A table is passed once. A target's mappings are passed before its probes fire. The
// module requests the mappings again if ustack() finds a text address outside the known
// mappings, or if the mappings are older than a second.
#pragma once

#include "libdtrace/session/backends/kernel_device.hpp"
#include "libdtrace/symbols/mapped_files.hpp"

#include <deque>
#include <map>

namespace dt {

class KernelUnwind {
public:
    explicit KernelUnwind(KernelDevice& device) : device_(device) {}

    // Passes the mappings of a process. If this fails, the module walks the stacks with
    // frame pointers.
    void pass_maps(pid_t pid);
    // Passes the mappings that the module has requested, until a time limit is reached.
    // The next call passes the rest. now_ns is monotonic time.
    void pass_unknown(std::uint64_t now_ns);

private:
    // Returns the number of the text's table, or 0.
    std::uint32_t table_of(const MappedFiles& files, const Mapping& text);

    KernelDevice& device_;
    std::map<FileVersion, std::uint32_t> tables_;
    std::deque<pid_t> pending_;
    std::uint64_t polled_at_ = 0;
};

} // namespace dt
