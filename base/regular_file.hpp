// SPDX-License-Identifier: MIT
// Opens files whose names another process chose.
//
// The name may refer to a FIFO, a device or a directory, and may refer to another file
// a moment later. So a name is opened with O_PATH, which has no effect on a device and
// never waits. The file that was found is checked, and then opened through
// /proc/self/fd, which does not look up the name again.
#pragma once

#include "base/fd.hpp"
#include "base/target_addr.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace dt {

// A limit that is larger than any program. It is needed because a sparse file of
// petabytes costs nothing to create.
constexpr std::uint64_t max_regular_file_bytes = std::uint64_t{64} << 30;

// Returns the file, open for reading. Returns an empty Fd if it cannot be opened, is
// not a regular file or is larger than max_bytes.
Fd open_regular(const std::string& path,
                std::uint64_t max_bytes = max_regular_file_bytes);

// A line of /proc/PID/maps that names a file.
struct MappedName {
    pid_t pid = 0;
    TargetAddr begin, end;
    std::uint32_t major = 0, minor = 0;
    std::uint64_t inode = 0;
    std::string path;
};

// Returns the mapped file itself, open for reading. With CAP_CHECKPOINT_RESTORE this is
// the kernel's own link to the file. Otherwise it is the first of these files whose
// device and inode are the mapping's: the file at that path in the process's root, the
// process's program, the file at that path in our root. Only the last one can be opened
// after the process has exited. Returns an empty Fd if none is found, or if it is not a
// regular file.
Fd open_mapped(const MappedName& name,
               std::uint64_t max_bytes = max_regular_file_bytes);

// Returns whether the kernel reports this device and inode for a mapping of the file.
// On btrfs and overlayfs, stat(2) reports a different device.
bool is_mapped_as(const Fd& file, const MappedName& name);

} // namespace dt
