// SPDX-License-Identifier: MIT
// Merges aggregated values, and computes the number or the buckets to show.
#pragma once

#include "libdtrace/consume/aggregates.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace dt {

bool is_distribution(std::uint32_t function);
// Returns whether the values are doubles.
bool holds_doubles(std::uint32_t function, std::uint64_t arg);

// Returns whether `arg` is valid for the function, and value_bytes is the size of a
// value with this `arg`.
bool fits(std::uint32_t function, std::uint64_t arg, std::size_t value_bytes);

// Merges `from` into `into`. Both values belong to the same aggregation.
void add_words(std::uint32_t function, std::uint64_t arg, std::byte* into,
               std::span<const std::byte> from);
// Returns a value without data. It is zero except for the parameters of lquantize and
// llquantize.
std::vector<std::byte> zero_value(std::uint32_t function, std::uint64_t arg,
                                  std::size_t value_bytes);

// Returns a / b, or 0 if b is 0. INT64_MIN / -1 wraps.
std::int64_t divide(std::int64_t a, std::int64_t b);

inline std::int64_t normalized(std::int64_t count, std::uint64_t normal)
{
    return divide(count, static_cast<std::int64_t>(normal));
}

// Returns the normalized number that %d shows. A double is truncated. Distributions
// have no such number.
std::int64_t shown_number(std::uint32_t function, std::uint64_t arg,
                          std::span<const std::byte> words, std::uint64_t normal);
double shown_double(std::uint32_t function, std::span<const std::byte> words,
                    std::uint64_t normal);

struct Bucket {
    // Value: the bucket begins at `value`. Below: it contains everything below `value`.
    // Above: it contains everything from `value` up.
    enum class Edge { Value, Below, Above } edge = Edge::Value;
    std::int64_t value = 0;
    std::int64_t count = 0;
};
// Returns the buckets of a distribution with their counts, lowest first.
std::vector<Bucket> buckets_of(std::uint32_t function, std::uint64_t arg,
                               std::span<const std::byte> words);

} // namespace dt
