// SPDX-License-Identifier: MIT
// Gives the kernel module the tables with which it walks the stacks of processes
// (kmod/unwind.h). There is one table for each file whose text a process has mapped.
//
// The table for a version of a file is created and passed only once. The mappings of a
// target are passed before its probes fire. The module requests the mappings of a
// process when ustack() finds text of the process that is in no known mapping, or uses
// mappings that are older than a second. While the mappings do not change, the module
// requests them at most once a second.
#pragma once

#include "libdtrace/session/backends/kernel_device.hpp"
#include "libdtrace/symbols/mapped_files.hpp"

#include <deque>
#include <map>

namespace dt {

class KernelUnwind {
public:
    explicit KernelUnwind(KernelDevice& device) : device_(device) {}

    // Passes the mappings of a process to the kernel module. The module uses them to
    // unwind the process's stacks with tables. If this fails, prints a debug message,
    // and the module unwinds the stacks with frame pointers.
    void pass_maps(pid_t pid);
    // Passes the mappings that the module has requested. Stops when a time limit is
    // reached; the next call then continues. now_ns is monotonic time.
    void pass_unknown(std::uint64_t now_ns);

private:
    // Returns the number of the table for this text, or 0 if there is none.
    std::uint32_t table_of(const MappedFiles& files, const Mapping& text);

    KernelDevice& device_;
    std::map<FileVersion, std::uint32_t> tables_;
    std::deque<pid_t> pending_;
    std::uint64_t polled_at_ = 0;
};

} // namespace dt
