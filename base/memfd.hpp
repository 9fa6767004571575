// SPDX-License-Identifier: MIT
// Memory that is shared only by passing a descriptor.
//
// A new memfd has mode 0777. A process with a read-only descriptor could therefore
// reopen the memfd for writing through /proc/PID/fd. The functions below remove all
// permissions, so a descriptor grants only the access that it was opened with.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"

#include <cstdint>

namespace dt {

struct Memfd {
    Fd writer; // opened for reading and writing; seals can be added through it
    Fd reader; // opened only for reading; a shared mapping of it can never be writable
};

// Creates a memfd of this size. Returns the errors of memfd_create(2), ftruncate(2),
// open(2) and fchmod(2).
Result<Memfd> make_memfd(const char* name, std::uint64_t bytes);
// Creates a memfd and returns its only descriptor. Every process that receives this
// descriptor can write to the memfd.
Result<Fd> make_writable_memfd(const char* name, std::uint64_t bytes);

} // namespace dt
