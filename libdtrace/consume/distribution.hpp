// SPDX-License-Identifier: MIT
// Draws the results of quantize(), lquantize() and llquantize().
//
//            value  ------------- Distribution ------------- count
//                1 |                                         0
//                2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1
//                4 |                                         0
//
// Bars of negative counts grow to the left. If both signs occur, each side of the
// vertical line has half the width.
#pragma once

#include "libdtrace/consume/agg_value.hpp"
#include "libdtrace/consume/display.hpp"

#include <span>
#include <string>

namespace dt {

constexpr std::size_t bar_columns = 40;

// The scale of bars that are drawn together.
struct BarScale {
    long double whole = 0; // the count that a full bar represents
    bool positives = false, negatives = false;

    void add(std::int64_t count, bool zoom);
    long double share(std::int64_t count) const;
    std::size_t length(std::int64_t count, std::size_t columns) const;
};

// Draws a bar without its count, for example "|@@@@      ".
void put_bar(std::string& out, std::int64_t count, const BarScale& scale,
             const Display& display);
// Draws one character whose height represents the count.
void put_height(std::string& out, std::int64_t count, const BarScale& scale,
                const Display& display);

// Returns the label of a bucket, for example "-4", "< 0" or ">= 10".
std::string edge_text(const Bucket& bucket);

void put_distribution(std::string& out, std::uint32_t function, std::uint64_t arg,
                      std::span<const std::byte> words, std::uint64_t normal,
                      const Display& display);

} // namespace dt
