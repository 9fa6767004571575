// An address in a traced process. It is neither an offset in an ELF file nor an address
// in this process.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace dt {

struct TargetAddr {
    std::uint64_t value = 0;
    auto operator<=>(const TargetAddr&) const = default;
    TargetAddr operator+(std::uint64_t n) const { return {value + n}; }
    TargetAddr operator-(std::uint64_t n) const { return {value - n}; }
    std::uint64_t operator-(TargetAddr other) const { return value - other.value; }
};

} // namespace dt

template <> struct std::hash<dt::TargetAddr> {
    std::size_t operator()(dt::TargetAddr at) const noexcept
    {
        return std::hash<std::uint64_t>{}(at.value);
    }
};
