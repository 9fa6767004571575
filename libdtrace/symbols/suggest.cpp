// SPDX-License-Identifier: MIT
// Computes the edit distance row by row, and stops when all values of a row exceed the
// limit.
#include "libdtrace/symbols/suggest.hpp"

#include "libdtrace/symbols/demangle.hpp"

#include <algorithm>
#include <array>

namespace dt {

namespace {

constexpr std::size_t longest_compared = 128;
constexpr unsigned prefix_distance = 3;

} // namespace

unsigned edit_distance(std::string_view a, std::string_view b, unsigned limit)
{
    if (a.size() > longest_compared || b.size() > longest_compared)
        return a == b ? 0 : limit + 1;
    std::size_t difference =
        a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
    if (difference > limit)
        return limit + 1;

    std::array<unsigned, longest_compared + 1> before{}, last{}, row{};
    for (std::size_t j = 0; j <= b.size(); j++)
        last[j] = static_cast<unsigned>(j);
    for (std::size_t i = 1; i <= a.size(); i++) {
        row[0] = static_cast<unsigned>(i);
        unsigned best = row[0];
        for (std::size_t j = 1; j <= b.size(); j++) {
            unsigned replaced = last[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, replaced});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
            best = std::min(best, row[j]);
        }
        if (best > limit)
            return limit + 1;
        before = last;
        last = row;
    }
    return std::min(last[b.size()], limit + 1);
}

void Suggestions::consider(std::string_view candidate)
{
    if (typed_.empty() || candidate.empty())
        return;
    unsigned limit = typed_.size() < 4 ? 1 : 2;
    unsigned distance = edit_distance(typed_, candidate, limit);
    if (distance <= limit)
        found_.push_back({distance, std::string(candidate)});
    else if (typed_.size() >= 2 && candidate.starts_with(typed_))
        found_.push_back({prefix_distance, std::string(candidate)});
}

std::vector<std::string> Suggestions::nearest(std::size_t limit) const
{
    std::vector<Candidate> sorted = found_;
    std::sort(sorted.begin(), sorted.end(), [](const Candidate& a, const Candidate& b) {
        if (a.distance != b.distance)
            return a.distance < b.distance;
        if (a.name.size() != b.name.size())
            return a.name.size() < b.name.size();
        return a.name < b.name;
    });
    std::vector<std::string> names;
    for (Candidate& candidate : sorted) {
        if (names.size() == limit)
            break;
        if (names.empty() || names.back() != candidate.name)
            names.push_back(std::move(candidate.name));
    }
    return names;
}

std::string did_you_mean(const std::vector<std::string>& names)
{
    if (names.empty())
        return {};
    std::string text = " (did you mean ";
    for (std::size_t i = 0; i < names.size(); i++)
        text += (i == 0                  ? ""
                 : i + 1 == names.size() ? " or "
                                         : ", ") +
                printable_name(names[i]);
    return text + "?)";
}

} // namespace dt
