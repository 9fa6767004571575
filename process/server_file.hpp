// SPDX-License-Identifier: MIT
// Opens files on file systems with a server that may not reply (FUSE).
//
//   dtrace ──fork──> child ──open, fstat, read──> server of the file system
//          <──────── a descriptor, or nothing within the deadline
//
// A process that waits for such a server cannot be killed, and cannot exit. Only the
// child waits. If it does not reply in time, dtrace kills it and continues. The child
// then exits when the server replies or exits.
#pragma once

#include "base/fd.hpp"

#include <cstdint>
#include <string>

namespace dt {

struct ServerFile {
    // The file itself, or a sealed copy if its file system is FUSE. Reading it never
    // waits for a server. Empty if the file was not opened.
    Fd file;
    bool is_copy = false;
    // The device and inode of the file, also if `file` is a copy.
    std::uint32_t major = 0, minor = 0;
    std::uint64_t inode = 0;
    bool timed_out = false; // the server did not reply
};

// Opens a regular file of at most max_bytes. Waits at most two seconds.
// Copies at most 1 GiB. The caller may have several threads, but the child has only one
// and does not allocate memory.
ServerFile open_with_server(const std::string& path, std::uint64_t max_bytes);

// The same for a file that has been found with O_PATH.
ServerFile open_with_server(const Fd& found, std::uint64_t max_bytes);

// Returns whether opening and reading the file, which has been found with O_PATH, needs
// no server. Does not wait for one. If `path` names an entry of a process in /proc, the
// file may be in the mount namespace of this process. Returns false if this is not known.
bool is_local(const Fd& found, const std::string& path);

} // namespace dt
