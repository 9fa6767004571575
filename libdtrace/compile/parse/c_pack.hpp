// SPDX-License-Identifier: MIT
// #pragma pack, which limits the alignment of the members of structs and unions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace dt {

class Packing {
public:
    // Applies the text after the word "pack", such as "(push, 1)", "(2)", "(pop)" or
    // "()". Text in another form is ignored.
    void pragma(std::string_view text);

    // Returns the maximum alignment of a member in bytes, or 0 if there is no limit.
    std::uint32_t limit() const { return limit_; }

private:
    std::uint32_t limit_ = 0;
    std::vector<std::uint32_t> saved_;
};

} // namespace dt
