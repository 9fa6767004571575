// SPDX-License-Identifier: MIT
// Files of one process' mappings, each opened once: the very file, whatever its path means by
// now, where the kernel lets us (CAP_CHECKPOINT_RESTORE); else the one that its path leads to.
#pragma once

#include "base/fd.hpp"
#include "libdtrace/symbols/process_maps.hpp"

#include <map>

namespace dt {

class MappedFiles {
public:
    explicit MappedFiles(pid_t pid) : pid_(pid) {}

    int open(const Mapping& mapping);      // -1: it cannot be had
    Fd take(const Mapping& mapping) const; // for the caller to keep; empty: the same

private:
    pid_t pid_;
    std::map<FileId, Fd> files_;
};

} // namespace dt
