// SPDX-License-Identifier: MIT
// Finds the differences between a process's text and its files.
#pragma once

#include "base/fd.hpp"
#include "base/target_addr.hpp"
#include "process/maps.hpp"
#include "process/page_map.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <sys/types.h>
#include <vector>

namespace dt {

// The memory of a process, opened only for reading.
class ProcessMemory {
public:
    explicit ProcessMemory(pid_t pid);
    // Returns whether the memory could be opened. If not, errno contains the reason.
    bool opened() const { return static_cast<bool>(mem_); }
    bool read(TargetAddr from, std::span<std::byte> into) const;
    template <class T> std::optional<T> value(TargetAddr from) const
    {
        T into;
        if (!read(from, std::as_writable_bytes(std::span(&into, 1))))
            return std::nullopt;
        return into;
    }
    // Returns the pages of a private mapping that were written to. If the kernel does
    // not show which pages these are, returns all pages. A page that was never written
    // to equals the file, and reading it would load it from the file.
    std::vector<TargetAddr> own_pages(const Mapping& mapping) const;

private:
    PageMap page_map_;
    Fd mem_; // opened last, so that errno is that of its failure
};

// A range of bytes that begins and ends with a byte that differs from the file.
// Differences are in the same range if fewer than five equal bytes are between them.
struct Difference {
    TargetAddr at;
    std::vector<std::byte> now, file; // both have the same length
    TargetAddr end() const { return at + now.size(); }
};

// Returns the differences in all executable file mappings, in ascending order. Adds a
// message to `notes` for each file that could not be compared.
std::vector<Difference> text_differences(pid_t pid, const ProcessMemory& memory,
                                         const ProcessMaps& maps,
                                         std::vector<std::string>& notes);

} // namespace dt
