// SPDX-License-Identifier: MIT
// Parses prototypes. The text is trusted, because it comes from the tables of dif/. A
// type that the session does not know is replaced with void *, which accepts any
// pointer.
#include "libdtrace/compile/check/prototypes.hpp"

namespace dt {

namespace {

std::string_view trimmed_prototype(std::string_view text)
{
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

const Type* hidden_type(std::string_view name, TypeTable& types)
{
    if (name == "stack")
        return types.stack_type();
    if (name == "_symaddr")
        return types.symaddr_type();
    if (name == "_usymaddr")
        return types.usymaddr_type();
    return nullptr;
}

} // namespace

const Type* parse_type_text(std::string_view text, TypeTable& types)
{
    text = trimmed_prototype(text);
    std::size_t n_pointers = 0;
    while (!text.empty() && text.back() == '*') {
        n_pointers++;
        text = trimmed_prototype(text.substr(0, text.size() - 1));
    }
    constexpr std::string_view qualifier = "const ";
    bool is_const = text.substr(0, qualifier.size()) == qualifier;
    if (is_const)
        text = trimmed_prototype(text.substr(qualifier.size()));

    const Type* type = hidden_type(text, types);
    if (!type && text == "string")
        type = types.string_type();
    if (!type)
        type = types.lookup_original(text);
    if (!type)
        return nullptr;
    if (is_const)
        type = types.qualified(type, true, false, false);
    for (; n_pointers > 0; n_pointers--)
        type = types.pointer_to(type);
    return type;
}

Prototype parse_prototype(std::string_view text, TypeTable& types)
{
    Prototype prototype;
    std::size_t open = text.find('(');
    prototype.result = parse_type_text(text.substr(0, open), types);
    if (!prototype.result)
        prototype.result = types.pointer_to(types.void_type());

    std::string_view rest = text.substr(open + 1, text.rfind(')') - open - 1);
    while (!trimmed_prototype(rest).empty()) {
        std::size_t comma = rest.find(',');
        std::string_view piece = trimmed_prototype(rest.substr(0, comma));
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
        if (piece == "...") {
            prototype.varargs = true;
            continue;
        }
        bool optional = piece.front() == '[';
        if (optional)
            piece = trimmed_prototype(piece.substr(1, piece.size() - 2));
        else
            prototype.n_required++;
        const Type* type = nullptr;
        if (piece != "@") {
            type = parse_type_text(piece, types);
            if (!type)
                type = types.pointer_to(types.void_type());
        }
        prototype.parameters.push_back({std::string(piece), type});
    }
    return prototype;
}

} // namespace dt
