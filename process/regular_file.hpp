// SPDX-License-Identifier: MIT
// Opens files by names that another process chose.
//
// The name may refer to a FIFO or a device, and later to a different file.
// open_regular() first opens the name with O_PATH, which has no effect on a device.
// Then it checks the type and opens the same file through /proc/self/fd.
//
// The file may be on a FUSE file system with a server that does not reply. Then the
// search for the name does not end, and not even SIGKILL ends it. Therefore all steps
// that may wait for a server are left to a process of their own (server_file.hpp).
#pragma once

#include "base/fd.hpp"
#include "base/target_addr.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace dt {

// The default size limit for files, 64 GiB. Any user can create a sparse file of
// petabytes.
constexpr std::uint64_t max_regular_file_bytes = std::uint64_t{64} << 30;

// Which files may be opened.
enum class FileSystems {
    local,       // only files that can be opened without waiting for a server
    with_server, // all files; copies the file if its file system has a server
};

// Returns the file, open for reading. Returns an empty Fd if the file cannot be opened,
// is not a regular file or is larger than max_bytes, or if its server does not reply.
Fd open_regular(const std::string& path,
                std::uint64_t max_bytes = max_regular_file_bytes,
                FileSystems from = FileSystems::with_server);

// From now on, open_regular() opens files of all file systems directly. Call this in a
// process that cannot open files itself, because another process opens them for it.
void leave_servers_to_another_process();

// A line of /proc/PID/maps that names a file.
struct MappedName {
    pid_t pid = 0;
    TargetAddr begin, end;
    std::uint32_t major = 0, minor = 0;
    std::uint64_t inode = 0;
    std::string path;
};

// Opens the mapped file for reading. With CAP_CHECKPOINT_RESTORE, opens it through
// /proc/PID/map_files. Otherwise returns the first of these files for which
// is_mapped_as() returns true:
//   1. the process's program, /proc/PID/exe
//   2. the file at name.path in our root, which also works after the process has exited
//   3. the file at name.path in the process's root
// Returns an empty Fd if none of them is the mapped file, or if open_regular() refuses
// the file. Sets `no_reply` to true if the server of its file system did not reply.
// A read of the memory mapped from the file could then wait forever, too.
Fd open_mapped(const MappedName& name, std::uint64_t max_bytes = max_regular_file_bytes,
               FileSystems from = FileSystems::with_server, bool* no_reply = nullptr);

// Returns whether the file has the device and inode of `name`. On btrfs and overlayfs,
// fstat(2) and /proc/PID/maps may report different numbers for one file. The function
// then maps the file and compares the entry in /proc/self/maps.
bool is_mapped_as(const Fd& file, const MappedName& name);

} // namespace dt
