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

void put_distribution(std::string& out, std::uint32_t function, std::uint64_t arg,
                      std::span<const std::byte> words, std::uint64_t normal,
                      const Display& display);

} // namespace dt
