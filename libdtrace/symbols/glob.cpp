// SPDX-License-Identifier: MIT
// Matches globs in one pass over the text. After a mismatch, the last star matches one
// more byte. Earlier stars never change, so there is no exponential case.
#include "libdtrace/symbols/glob.hpp"

#include <cstddef>
#include <optional>

namespace dt {

namespace {

struct Step {
    std::size_t next; // index after the element
    bool matched;
};

// Matches the class that starts at glob[at]. A ']' right after the '[' is a member.
// Returns nullopt if the class is not closed.
std::optional<Step> match_class(std::string_view glob, std::size_t at, unsigned char c)
{
    std::size_t i = at + 1;
    bool inverted = i < glob.size() && glob[i] == '!';
    if (inverted)
        i++;
    bool matched = false;
    auto member = [&]() -> std::optional<unsigned char> {
        if (i < glob.size() && glob[i] == '\\')
            i++;
        if (i >= glob.size())
            return std::nullopt;
        return static_cast<unsigned char>(glob[i++]);
    };
    for (bool first = true;; first = false) {
        if (i >= glob.size())
            return std::nullopt;
        if (glob[i] == ']' && !first)
            return Step{i + 1, matched != inverted};
        auto low = member();
        if (!low)
            return std::nullopt;
        auto high = low;
        if (i + 1 < glob.size() && glob[i] == '-' && glob[i + 1] != ']') {
            i++;
            high = member();
            if (!high)
                return std::nullopt;
        }
        if (*low <= c && c <= *high)
            matched = true;
    }
}

// Matches one element that is not a star.
std::optional<Step> match_one(std::string_view glob, std::size_t at, unsigned char c)
{
    switch (glob[at]) {
    case '?':
        return Step{at + 1, true};
    case '[':
        return match_class(glob, at, c);
    case '\\':
        if (++at >= glob.size())
            return std::nullopt;
        [[fallthrough]];
    default:
        return Step{at + 1, static_cast<unsigned char>(glob[at]) == c};
    }
}

} // namespace

std::optional<std::size_t> class_end(std::string_view glob, std::size_t at)
{
    auto step = match_class(glob, at, 0);
    return step ? std::optional(step->next) : std::nullopt;
}

bool glob_valid(std::string_view glob)
{
    for (std::size_t i = 0; i < glob.size();) {
        if (glob[i] == '*') {
            i++;
            continue;
        }
        auto step = match_one(glob, i, 0);
        if (!step)
            return false;
        i = step->next;
    }
    return true;
}

bool is_glob(std::string_view pattern)
{
    return pattern.find_first_of("*?[\\") != std::string_view::npos;
}

bool glob_match(std::string_view glob, std::string_view text)
{
    constexpr std::size_t none = std::string_view::npos;
    std::size_t at = 0, i = 0, after_star = none, star_text = 0;

    if (!glob_valid(glob))
        return false;
    while (i < text.size()) {
        if (at < glob.size() && glob[at] == '*') {
            after_star = ++at;
            star_text = i;
            continue;
        }
        if (at < glob.size()) {
            auto step = match_one(glob, at, static_cast<unsigned char>(text[i]));
            if (step && step->matched) {
                at = step->next;
                i++;
                continue;
            }
        }
        if (after_star == none)
            return false;
        at = after_star;
        i = ++star_text;
    }
    while (at < glob.size() && glob[at] == '*')
        at++;
    return at == glob.size();
}

} // namespace dt
