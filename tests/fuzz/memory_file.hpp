// SPDX-License-Identifier: MIT
// Files in memory, for fuzz targets whose code reads a file.
#pragma once

#include "base/fd.hpp"

#include <cstdint>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace dt::fuzz {

// Returns a file that contains these bytes. Aborts on failure.
inline Fd memory_file(const std::uint8_t* data, std::size_t size)
{
    Fd file(::memfd_create("fuzz", MFD_CLOEXEC));
    if (!file || ::pwrite(file.get(), data, size, 0) != static_cast<ssize_t>(size))
        std::abort();
    return file;
}

} // namespace dt::fuzz
