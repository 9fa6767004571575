// SPDX-License-Identifier: MIT
// Options about the language: the version of D, and the minimum stability of names.
// They are stored as text.
#include "libdtrace/session/options.hpp"

namespace dt {

Version Options::version() const
{
    auto set = text.find("version");
    return set == text.end() ? latest_version : *parse_version(set->second);
}

std::optional<Attributes> Options::amin() const
{
    auto set = text.find("amin");
    return set == text.end() ? std::nullopt : parse_attributes(set->second);
}

Options::Refused Options::check_language(std::string_view name,
                                         std::string_view value) const
{
    if (name == "amin")
        return parse_attributes(value) ? Refused::none : Refused::value;
    if (name != "version")
        return Refused::none;
    auto asked = parse_version(value);
    if (!asked)
        return Refused::version_malformed;
    if (!is_defined(*asked))
        return Refused::version_undefined;
    // The version cannot be raised, because names that a lower version hides stay
    // hidden.
    return *asked > version() ? Refused::version_raised : Refused::none;
}

} // namespace dt
