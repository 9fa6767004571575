// SPDX-License-Identifier: MIT
// #pragma pack: the largest alignment of members that a header allows.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dt {

class Packing {
public:
    // Handles the text after the word: "(push, 1)", "(2)", "(pop)", "()". Text in none
    // of C's forms changes nothing.
    void pragma(std::string_view text);

    std::uint32_t limit() const { return limit_; } // bytes; 0: none

private:
    std::uint32_t limit_ = 0;
    std::vector<std::uint32_t> saved_;
};

} // namespace dt
