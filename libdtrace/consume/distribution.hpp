// SPDX-License-Identifier: MIT
// quantize(), lquantize() and llquantize() as drawings.
//
//            value  ------------- Distribution ------------- count
//                1 |                                         0
//                2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@ 1
//                4 |                                         0
//
// From one bucket below the first with a count to one above the last. Counts may be
// negative (negative increments): then bars grow to the left of the line, and with both
// signs each side has half the width.
#pragma once

#include "libdtrace/consume/agg_value.hpp"
#include "libdtrace/consume/display.hpp"

#include <span>
#include <string>

namespace dt {

constexpr std::size_t bar_columns = 40;

// What the bars that stand together are measured by.
struct BarScale {
    long double whole = 0; // what a full bar stands for
    bool positives = false, negatives = false;

    void add(std::int64_t count, bool zoom);
    long double share(std::int64_t count) const;
    std::size_t length(std::int64_t count, std::size_t columns) const;
};

// "|@@@@      ", without its count.
void put_bar(std::string& out, std::int64_t count, const BarScale& scale,
             const Display& display);
// One character, the higher the larger.
void put_height(std::string& out, std::int64_t count, const BarScale& scale,
                const Display& display);

// "-4", "< 0", ">= 10".
std::string edge_text(const Bucket& bucket);

void put_distribution(std::string& out, std::uint32_t function, std::uint64_t arg,
                      std::span<const std::byte> words, std::uint64_t normal,
                      const Display& display);

} // namespace dt
