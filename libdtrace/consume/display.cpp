// SPDX-License-Identifier: MIT
// Sets display options by name and text.
#include "libdtrace/consume/display.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace dt {

static std::optional<bool> parse_flag(std::string_view value)
{
    static constexpr std::array<std::string_view, 8> yes = {
        "", "1", "true", "yes", "enable", "enabled", "on", "set"};
    static constexpr std::array<std::string_view, 7> no = {
        "0", "false", "no", "disable", "disabled", "off", "unset"};
    std::string lower(value);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (std::find(yes.begin(), yes.end(), lower) != yes.end())
        return true;
    if (std::find(no.begin(), no.end(), lower) != no.end())
        return false;
    return std::nullopt;
}

static std::optional<std::uint64_t> parse_count(std::string_view value)
{
    std::uint64_t number = 0;
    auto [end, error] =
        std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size())
        return std::nullopt;
    return number;
}

template <class T>
static Result<Ok> store(T& option, std::optional<T> value, std::string_view name)
{
    if (!value)
        return Error{Code::invalid,
                     std::string(name) + ": Invalid value for specified option"};
    option = *value;
    return Ok{};
}

Result<Ok> Display::set(std::string_view name, std::string_view value)
{
#define X(option)                                                                      \
    if (name == #option)                                                               \
        return store(option, parse_flag(value), name);
    DT_DISPLAY_FLAGS(X)
#undef X
#define X(option, unset)                                                               \
    if (name == #option)                                                               \
        return store(option, parse_count(value), name);
    DT_DISPLAY_COUNTS(X)
#undef X
    return Error{Code::not_found, std::string(name) + ": not a display option"};
}

} // namespace dt
