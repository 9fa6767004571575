// SPDX-License-Identifier: MIT
// Files of one process' mappings, each opened once: the very file, whatever its path means by
// now, where the kernel lets us (CAP_CHECKPOINT_RESTORE); else the one that its path leads to.
#pragma once

#include "base/fd.hpp"
#include "process/maps.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dt {

// A file's number is reused when the file is deleted; a file that is written again has another time.
struct FileVersion {
    FileId file;
    std::int64_t bytes = 0;
    std::int64_t changed_ns = 0; // since 1970
    auto operator<=>(const FileVersion&) const = default;
};

class MappedFiles {
public:
    explicit MappedFiles(pid_t pid) : pid_(pid) {}

    int open(const Mapping& mapping);      // -1: it cannot be had
    Fd take(const Mapping& mapping) const; // for the caller to keep; empty: the same
    std::optional<FileVersion>
    version(const Mapping& mapping) const; // of regular files

private:
    std::string
    range_path(const Mapping& mapping) const; // the file itself, by the range
    std::string root_path(const Mapping& mapping) const;

    pid_t pid_;
    std::map<FileId, Fd> files_;
};

} // namespace dt
