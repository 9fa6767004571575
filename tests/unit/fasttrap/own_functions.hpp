// SPDX-License-Identifier: MIT
// Reads the functions of an ELF file, and data at link-time addresses.
#pragma once

#include "fasttrap/function.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace dt::test {

struct Image {
    explicit Image(const std::string& path);

    struct Function {
        TargetAddr at;
        std::uint64_t size = 0;
    };
    std::map<std::string, Function> functions; // one name per address

    bool read(TargetAddr from, std::span<std::byte> into) const;
    std::vector<std::byte> text(const Function& function) const;
    Result<FunctionSites> analyze(const Function& function) const;

private:
    std::vector<std::byte> bytes_;
    struct Segment {
        std::uint64_t at, offset, size;
    };
    std::vector<Segment> segments_;
};

} // namespace dt::test
