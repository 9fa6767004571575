// SPDX-License-Identifier: MIT
// Where a process' text is not what its files have.
#pragma once

#include "base/fd.hpp"
#include "base/target_addr.hpp"
#include "process/maps.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt {

// The memory of a process, for reading alone.
class ProcessMemory {
public:
    explicit ProcessMemory(pid_t pid);
    // errno tells why not.
    bool opened() const { return static_cast<bool>(mem_); }
    bool read(TargetAddr from, std::span<std::byte> into) const;
    template <class T> std::optional<T> value(TargetAddr from) const
    {
        T into;
        if (!read(from, std::as_writable_bytes(std::span(&into, 1))))
            return std::nullopt;
        return into;
    }
    // Pages of a private mapping that are there and are no file's: written to. Only these
    // need be read, so that nothing is paged in on behalf of the process.
    std::vector<TargetAddr> own_pages(const Mapping& mapping) const;

private:
    Fd mem_, pages_;
};

// A run of bytes of which the first and the last differ, and no five in a row are alike.
struct Difference {
    TargetAddr at;
    std::vector<std::byte> now, file; // as many of each
    TargetAddr end() const { return at + now.size(); }
};

// Of all executable memory of files, ascending. notes: what could not be compared.
std::vector<Difference> text_differences(pid_t pid, const ProcessMemory& memory,
                                         const ProcessMaps& maps,
                                         std::vector<std::string>& notes);

} // namespace dt
