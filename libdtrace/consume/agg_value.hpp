// SPDX-License-Identifier: MIT
// What an aggregation's words mean: their sum, the number they show, how they sort.
#pragma once

#include "libdtrace/consume/aggregates.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace dt {

bool is_distribution(std::uint32_t function);
// Of what was summed, or compared, as doubles.
bool holds_doubles(std::uint32_t function, std::uint64_t arg);

// Does a value of this many bytes fit the function and its parameters?
bool fits(std::uint32_t function, std::uint64_t arg, std::size_t value_bytes);

// into += from, as the function adds up. Both are words of the same aggregation.
void add_words(std::uint32_t function, std::uint64_t arg, std::byte* into,
               std::span<const std::byte> from);
// A value without data: zeros, but the parameter word of lquantize and llquantize.
std::vector<std::byte> zero_value(std::uint32_t function, std::uint64_t arg,
                                  std::size_t value_bytes);

// a / b; 0 for b = 0; the one quotient that does not fit wraps.
std::int64_t divide(std::int64_t a, std::int64_t b);

// A bucket's count as it is shown.
inline std::int64_t normalized(std::int64_t count, std::uint64_t normal)
{
    return divide(count, static_cast<std::int64_t>(normal));
}

// The number that %d and default printing show: averages and deviations computed,
// normalized; of doubles what is whole of it. Words: the value's. Distributions have none.
std::int64_t shown_number(std::uint32_t function, std::uint64_t arg,
                          std::span<const std::byte> words, std::uint64_t normal);
// The same of those that hold doubles.
double shown_double(std::uint32_t function, std::span<const std::byte> words,
                    std::uint64_t normal);

struct Bucket {
    enum class Edge { Value, Below, Above } edge = Edge::Value; // "< v", ">= v"
    std::int64_t value = 0;
    std::int64_t count = 0;
};
// The buckets of a distribution with their counts, lowest first.
std::vector<Bucket> buckets_of(std::uint32_t function, std::uint64_t arg,
                               std::span<const std::byte> words);

} // namespace dt
