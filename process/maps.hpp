// SPDX-License-Identifier: MIT
// The mappings of a process, from /proc/PID/maps.
//
// The kernel escapes only newlines in a path (as \012). It appends " (deleted)" to the
// path of an unlinked file. A file's own name can also end in " (deleted)". The two
// cases look the same in maps. In both cases, `path` does not contain the suffix and
// `deleted` is true.
#pragma once

#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "process/regular_file.hpp"

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace dt {

// The device and inode of a mapped file, as a line of maps contains them.
struct FileId {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    std::uint64_t inode = 0;
    auto operator<=>(const FileId&) const = default;
};

inline constexpr std::string_view vdso_path =
    "[vdso]"; // the path of the vDSO's mapping

struct Mapping {
    TargetAddr begin, end;
    std::uint64_t offset = 0;
    FileId file;
    bool readable = false, writable = false, executable = false, shared = false;
    bool deleted = false;
    // Empty if the mapping is anonymous. The kernel names some mappings that are not
    // files, for example "[vdso]" and "[stack]".
    std::string path;

    // Returns the path as the kernel prints it, for example in /proc/PID/exe.
    std::string kernel_path() const { return deleted ? path + " (deleted)" : path; }
    bool contains(TargetAddr at) const { return begin <= at && at < end; }
    bool is_file() const { return !path.empty() && path[0] == '/' && file.inode != 0; }
};

// Converts a mapping to the form that process/regular_file.hpp uses.
inline MappedName mapped_name(pid_t pid, const Mapping& mapping)
{
    return {pid,
            mapping.begin,
            mapping.end,
            mapping.file.major,
            mapping.file.minor,
            mapping.file.inode,
            mapping.path};
}

class ProcessMaps {
public:
    // Errors: Code::gone if the process does not exist or has no memory (a zombie),
    // Code::permission if its maps are not readable.
    static Result<ProcessMaps> read(pid_t pid);
    // Returns Code::corrupt if a line is invalid. The error's text contains the line's
    // number.
    static Result<ProcessMaps> parse(std::string_view text);

    std::span<const Mapping> all() const { return mappings_; } // in address order
    std::vector<Mapping> take() && { return std::move(mappings_); }
    const Mapping* at(TargetAddr addr) const;

private:
    std::vector<Mapping> mappings_;
};

// Returns the mappings of a process, sorted by address. Returns an empty vector if the
// maps are not readable.
std::vector<Mapping> mappings_of(pid_t pid);
// Returns the mapping that contains an address, or null. `all` must be sorted by
// address.
const Mapping* find_mapping(std::span<const Mapping> all, TargetAddr at);
// Returns a hash of the start addresses and paths of the executable mappings of files.
std::size_t text_mappings(pid_t pid);

} // namespace dt
