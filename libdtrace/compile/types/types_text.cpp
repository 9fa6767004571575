// SPDX-License-Identifier: MIT
// Writes types as text for messages, -v and print(). A C declarator such as
// "int (*name)[4]" is built outward from the name.
#include "libdtrace/compile/types/types.hpp"

namespace dt {

namespace {

std::string around(const Type* type, std::string middle);

std::string with(std::string base, const std::string& middle)
{
    return middle.empty() ? base : std::move(base) + " " + middle;
}

std::string tagged(const char* keyword, const Type* type)
{
    return std::string(keyword) + " " + (type->name.empty() ? "(anon)" : type->name);
}

std::string function_text(const Type* type, const std::string& middle)
{
    std::string parameters;
    for (const Type* parameter : type->parameters)
        parameters += (parameters.empty() ? "" : ", ") + type_text(parameter);
    if (type->varargs)
        parameters += parameters.empty() ? "..." : ", ...";
    if (parameters.empty())
        parameters = "void";
    return around(type->base, middle + "(" + parameters + ")");
}

std::string pointer_text(const Type* type, std::string middle)
{
    middle = "*" + middle;
    const Type* base = type->base;
    while (base->kind == TypeKind::Typedef && base->name.empty()) // skips qualifiers
        base = base->base;
    if (base->kind == TypeKind::Array || base->kind == TypeKind::Function)
        middle = "(" + middle + ")";
    std::string text = around(type->base, std::move(middle));
    // The word "userland" is printed once, with the pointee.
    const bool is_said = type->base->userland || base->userland;
    return type->userland && !is_said ? "userland " + text : text;
}

std::string qualifiers(const Type* type)
{
    std::string text;
    if (type->userland)
        text += "userland ";
    if (type->is_const)
        text += "const ";
    if (type->is_volatile)
        text += "volatile ";
    return text;
}

std::string around(const Type* type, std::string middle)
{
    switch (type->kind) {
    case TypeKind::Pointer:
        return pointer_text(type, std::move(middle));
    case TypeKind::Array:
        return around(type->base,
                      middle + "[" +
                          (type->complete ? std::to_string(type->count) : "") + "]");
    case TypeKind::Function:
        return function_text(type, middle);
    case TypeKind::Struct:
        return with(tagged("struct", type), middle);
    case TypeKind::Union:
        return with(tagged("union", type), middle);
    case TypeKind::Enum:
        return with(tagged("enum", type), middle);
    case TypeKind::Typedef:
        if (!type->name.empty())
            return with(type->name, middle);
        if (type->base->is_pointer()) // prints "int *const", not "const int *"
            return around(type->base, qualifiers(type) + middle);
        return qualifiers(type) + around(type->base, std::move(middle));
    case TypeKind::Dynamic:
        return with("dynamic variable", middle);
    default:
        return with(type->name, middle);
    }
}

} // namespace

std::string type_text(const Type* type)
{
    return declaration_text(type, "");
}

std::string declaration_text(const Type* type, std::string_view name)
{
    if (type == nullptr)
        return "unknown type";
    std::string text = around(type, std::string(name));
    while (!text.empty() && text.back() == ' ')
        text.pop_back();
    return text;
}

} // namespace dt
