// SPDX-License-Identifier: MIT
// "did you mean": the names that are nearest to what was typed.
//
// Near is an edit distance (insert, delete, replace, swap neighbours) of at most 2, or
// of 1 for names below four bytes, or the typed text being a prefix. Nearest first; a
// prefix counts as distance 3, shorter first.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dt {

class Suggestions {
public:
    explicit Suggestions(std::string_view typed) : typed_(typed) {}
    void consider(std::string_view candidate);
    std::vector<std::string> nearest(std::size_t limit = 3) const;

private:
    struct Candidate {
        unsigned distance;
        std::string name;
    };
    std::string typed_;
    std::vector<Candidate> found_;
};

// " (did you mean a, b or c?)", as every message says it; "" without names.
std::string did_you_mean(const std::vector<std::string>& names);

// The edit distance, or limit + 1 when it is larger than limit.
unsigned edit_distance(std::string_view a, std::string_view b, unsigned limit);

} // namespace dt
