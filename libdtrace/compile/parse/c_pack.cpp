// SPDX-License-Identifier: MIT
// See c_pack.hpp.
#include "libdtrace/compile/parse/c_pack.hpp"

namespace dt {

namespace {

constexpr std::size_t max_saved = 1000;

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view blanks = " \t";
    std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// Returns the number in the text if it is 1, 2, 4, 8 or 16, else 0.
std::uint32_t alignment(std::string_view text)
{
    for (std::string_view one : {"1", "2", "4", "8"})
        if (text == one)
            return static_cast<std::uint32_t>(one[0] - '0');
    return text == "16" ? 16 : 0;
}

} // namespace

void Packing::pragma(std::string_view text)
{
    text = trimmed(text);
    std::size_t close = text.find(')');
    if (!text.starts_with('(') || close == std::string_view::npos)
        return;
    std::string_view rest = trimmed(text.substr(1, close - 1));
    if (rest.empty())
        limit_ = 0;
    for (bool first = true; !rest.empty(); first = false) {
        std::size_t comma = rest.find(',');
        std::string_view word = trimmed(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? "" : trimmed(rest.substr(comma + 1));
        if (first && word == "push" && saved_.size() < max_saved) {
            saved_.push_back(limit_);
        } else if (first && word == "pop" && !saved_.empty()) {
            limit_ = saved_.back();
            saved_.pop_back();
        } else if (std::uint32_t to = alignment(word)) {
            limit_ = to;
        }
    }
}

} // namespace dt
