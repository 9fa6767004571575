// SPDX-License-Identifier: MIT
// The files of one process's mappings. Each file is opened once.
//
// With CAP_CHECKPOINT_RESTORE, the mapped file itself is opened. Otherwise the file at
// the path is opened if it is still the mapped file.
#pragma once

#include "base/fd.hpp"
#include "process/maps.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace dt {

// Identifies a version of a file. The inode number is not enough: a rewritten file
// keeps its number, and a new file may get the number of a deleted file.
struct FileVersion {
    FileId file;
    std::int64_t bytes = 0;
    std::int64_t changed_ns = 0; // since 1970
    auto operator<=>(const FileVersion&) const = default;
};

class MappedFiles {
public:
    explicit MappedFiles(pid_t pid) : pid_(pid) {}

    int open(const Mapping& mapping); // Returns -1 if the file is not available.
    // Opens the file. The caller owns the result, which is empty if the file is not
    // available.
    Fd take(const Mapping& mapping) const;
    std::optional<FileVersion>
    version(const Mapping& mapping) const; // nullopt if not a regular file

private:
    // Returns the path of the link /proc/PID/map_files/BEGIN-END to the mapped file.
    std::string range_path(const Mapping& mapping) const;
    std::string root_path(const Mapping& mapping) const;

    pid_t pid_;
    std::map<FileId, Fd> files_;
};

} // namespace dt
