// SPDX-License-Identifier: MIT
// Memory that is shared only by passing a descriptor.
//
// A new memfd's inode has mode 0777. While a process has one of its descriptors open,
// every process of that user can reopen the file for writing, through /proc/PID/fd.
// Here the inode has no permissions, so a descriptor grants only the access that it was
// opened with.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <cstdint>

namespace dt {

struct Memfd {
    Fd writer; // seals may be added through it
    Fd reader; // opened for reading: no mapping of it can be made writable
};

// Errors: memfd_create(2), ftruncate(2), open(2), fchmod(2).
Result<Memfd> make_memfd(const char* name, std::uint64_t bytes);
// Creates a memfd. Every process with a descriptor of it may write to it.
Result<Fd> make_writable_memfd(const char* name, std::uint64_t bytes);

} // namespace dt
