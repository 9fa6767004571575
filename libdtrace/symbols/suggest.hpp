// SPDX-License-Identifier: MIT
// Suggestions ("did you mean"): the names that are nearest to the typed text.
//
// A name is near if its edit distance (insert, delete, replace, swap neighbours) is at
// most 2. The limit is 1 if the typed text is shorter than four bytes. If the typed
// text has at least two bytes, each name that starts with it is also near, and has a
// distance of at most 3. The nearest name comes first, and shorter names come before
// longer ones.
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

// Returns " (did you mean a, b or c?)". Returns "" if there are no names.
std::string did_you_mean(const std::vector<std::string>& names);

// Returns the edit distance, or limit + 1 if it exceeds the limit.
unsigned edit_distance(std::string_view a, std::string_view b, unsigned limit);

} // namespace dt
