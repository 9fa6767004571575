// SPDX-License-Identifier: MIT
// See macro.hpp.
#include "libdtrace/compile/parse/macro.hpp"

#include "libdtrace/compile/parse/characters.hpp"

#include <algorithm>

namespace dt {

namespace {

bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

} // namespace

Macros::Name Macros::scan(std::string_view text)
{
    Name found;
    std::size_t at = 1;
    if (at < text.size() && text[at] == '$') {
        found.as_string = true;
        ++at;
    }
    std::size_t begin = at;
    if (at < text.size() && is_digit(text[at])) {
        found.is_argument = true;
        while (at < text.size() && is_digit(text[at]))
            ++at;
    } else {
        while (at < text.size() && is_word(text[at]))
            ++at;
    }
    if (at == begin)
        return {};
    found.name = text.substr(begin, at - begin);
    found.length = at;
    return found;
}

bool Macros::find(const Name& name, std::string& value)
{
    if (!name.is_argument) {
        auto number = options_.environment->macro_value(name.name);
        if (number)
            value = std::to_string(*number);
        return number.has_value();
    }
    std::size_t index = 0;
    for (char digit : name.name)
        index = std::min<std::size_t>(
            index * 10 + static_cast<std::size_t>(digit - '0'), 1u << 30);
    if (index < options_.macro_args.size()) {
        referenced_[index] = true;
        value = options_.macro_args[index];
        return true;
    }
    value = name.as_string ? "" : "0";
    return options_.defaultargs;
}

std::string Macros::value(const Name& name, Place at)
{
    std::string found;
    if (find(name, found))
        return found;
    std::string spelled = (name.as_string ? "$$" : "$") + std::string(name.name);
    if (name.is_argument)
        fail(Tag::MACRO_UNDEF, at, "macro argument " + spelled + " is not defined");
    fail(Tag::MACRO_UNDEF, at, "macro variable " + spelled + " is not defined");
}

std::string Macros::expand(std::string_view description, Place at)
{
    std::string result;
    for (std::size_t i = 0; i < description.size();) {
        if (description[i] == '\\' && i + 1 < description.size()) {
            result += description.substr(i, 2);
            i += 2;
            continue;
        }
        Name name = description[i] == '$' ? scan(description.substr(i)) : Name{};
        if (name.length == 0) {
            result += description[i++];
            continue;
        }
        std::string text;
        if (!find(name, text))
            fail(Tag::PDESC_INVAL, at,
                 "invalid probe description \"" + std::string(description) +
                     "\": Undefined macro variable in probe description");
        result += text;
        i += name.length;
    }
    return result;
}

void Macros::check_all_used() const
{
    if (options_.argref)
        return;
    for (std::size_t i = 1; i < referenced_.size(); ++i) {
        if (!referenced_[i])
            fail(Tag::MACRO_UNUSED, {},
                 "extraneous argument '" + options_.macro_args[i] + "' ($" +
                     std::to_string(i) + " is not referenced)");
    }
}

} // namespace dt
