// SPDX-License-Identifier: MIT
// The names of stability levels and dependency classes, in the order of their enums.
#include "libdtrace/compile/attributes.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace dt {

namespace {

constexpr std::array stability_names{"Internal", "Private",  "Obsolete", "External",
                                     "Unstable", "Evolving", "Stable",   "Standard"};
constexpr std::array class_names{"Unknown", "CPU", "Platform",
                                 "Group",   "ISA", "Common"};

bool same_letters(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](unsigned char x, unsigned char y) {
                          return std::tolower(x) == std::tolower(y);
                      });
}

// Finds a name in a list, ignoring case, and sets `to` to the name's index. Returns
// false if the list does not contain the name.
template <class Enum, std::size_t n>
bool parse(std::string_view text, const std::array<const char*, n>& names, Enum& to)
{
    for (std::size_t i = 0; i < n; i++) {
        if (!same_letters(text, names[i]))
            continue;
        to = static_cast<Enum>(i);
        return true;
    }
    return false;
}

} // namespace

Attributes weakest(const Attributes& a, const Attributes& b)
{
    return {std::min(a.name, b.name), std::min(a.data, b.data),
            std::min(a.dependency, b.dependency)};
}

bool is_below(const Attributes& attributes, const Attributes& least)
{
    return weakest(attributes, least) != least;
}

const char* stability_name(Stability stability)
{
    return stability_names[static_cast<std::size_t>(stability)];
}

const char* class_name(DependencyClass dependency)
{
    return class_names[static_cast<std::size_t>(dependency)];
}

std::string attributes_text(const Attributes& attributes)
{
    return std::string(stability_name(attributes.name)) + "/" +
           stability_name(attributes.data) + "/" + class_name(attributes.dependency);
}

std::optional<Attributes> parse_attributes(std::string_view text)
{
    std::size_t first = text.find('/');
    std::size_t second =
        first == std::string_view::npos ? first : text.find('/', first + 1);
    Attributes found;
    if (second == std::string_view::npos ||
        !parse(text.substr(0, first), stability_names, found.name) ||
        !parse(text.substr(first + 1, second - first - 1), stability_names,
               found.data) ||
        !parse(text.substr(second + 1), class_names, found.dependency))
        return std::nullopt;
    return found;
}

} // namespace dt
