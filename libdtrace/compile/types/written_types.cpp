// SPDX-License-Identifier: MIT
#include "libdtrace/compile/types/written_types.hpp"

#include <algorithm>
#include <string>

namespace dt {

static const Type* named(std::string_view text, DebugTypes* in, TargetTypes& types)
{
    auto [kind, name] = DebugTypes::split(text);
    if (auto ref = in != nullptr ? in->find(kind, name) : std::nullopt)
        return types.type(*in, *ref);
    return types.table().lookup_original(text);
}

// Removes the first word or asterisk from the text and returns it.
static std::string_view take_token(std::string_view& text)
{
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const std::size_t n = text.starts_with('*') ? 1 : text.find_first_of(" *");
    std::string_view token = text.substr(0, n);
    text.remove_prefix(token.size());
    return token;
}

const Type* written_type(std::string_view text, DebugTypes* in, TargetTypes& types)
{
    TypeTable& table = types.table();
    const bool is_pointer = text.find('*') != std::string_view::npos;
    std::string name;
    bool is_const = false;
    const Type* type = nullptr;
    for (;;) {
        const std::string_view token = take_token(text);
        if (token == "const") {
            is_const = true;
            continue;
        }
        if (token != "*" && !token.empty()) {
            name += (name.empty() ? "" : " ") + std::string(token);
            continue;
        }
        if (type == nullptr)
            type = named(name, in, types);
        if (type == nullptr)
            type = is_pointer ? table.void_type() : table.lookup_original("long");
        // A const after the last asterisk is ignored.
        if (token.empty())
            return type;
        type = table.pointer_to(table.qualified(type, is_const, false, false), true);
        is_const = false;
    }
}

} // namespace dt
