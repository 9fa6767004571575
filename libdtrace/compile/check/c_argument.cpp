// SPDX-License-Identifier: MIT
#include "libdtrace/compile/check/c_argument.hpp"

#include "libdtrace/compile/check/conversions.hpp"

namespace dt {

namespace {

class Plain {
public:
    Plain(TypeTable& types, std::set<std::string>& tags) : types_(types), tags_(tags) {}

    const Type* argument(const Type* type)
    {
        type = type->resolve();
        if (type->kind == TypeKind::Array)
            return to_const(type->base);
        if (type->kind == TypeKind::Function)
            return types_.pointer_to(make(type));
        if (type->kind == TypeKind::Pointer &&
            type->base->resolve()->kind != TypeKind::Function)
            return to_const(type->base);
        return make(type);
    }

private:
    // Returns whether C can declare the type without its body. This is false for an
    // enumeration, and for a structure or union without a tag.
    static bool has_a_declaration(const Type* type)
    {
        type = type->resolve();
        if (type->kind == TypeKind::Pointer || type->kind == TypeKind::Array)
            return has_a_declaration(type->base);
        return type->kind != TypeKind::Enum &&
               (!type->is_struct_or_union() || !type->name.empty());
    }

    // Returns void with the type's volatile qualifier.
    const Type* any(const Type* type)
    {
        bool is_volatile = false;
        for (; type->kind == TypeKind::Typedef || type->kind == TypeKind::Array;
             type = type->base)
            is_volatile |= type->is_volatile;
        return types_.qualified(types_.void_type(), false, is_volatile, false);
    }

    const Type* to_const(const Type* base)
    {
        bool is_volatile = false;
        // ISO C does not implicitly convert `T (*)[n]` to `const T (*)[n]`.
        const bool is_said =
            base->resolve()->kind != TypeKind::Array && has_a_declaration(base);
        const Type* plain = is_said ? make(base) : any(base);
        // removes the qualifiers
        while (plain->kind == TypeKind::Typedef && plain->name.empty()) {
            is_volatile |= plain->is_volatile;
            plain = plain->base;
        }
        return types_.pointer_to(types_.qualified(plain, true, is_volatile, false));
    }

    const Type* make(const Type* type)
    {
        switch (type->kind) {
        case TypeKind::Typedef: {
            const Type* base = make(type->base);
            return types_.qualified(base, type->is_const, type->is_volatile, false);
        }
        case TypeKind::Pointer:
            return types_.pointer_to(make(type->base));
        case TypeKind::Array:
            return types_.array_of(make(type->base), type->count, type->complete);
        case TypeKind::Function: {
            std::vector<const Type*> parameters;
            for (const Type* parameter : type->parameters)
                parameters.push_back(make(parameter));
            return types_.function_of(make(type->base), std::move(parameters),
                                      type->varargs);
        }
        case TypeKind::Struct:
        case TypeKind::Union:
            if (type->name.empty())
                return types_.void_type();
            tags_.insert((type->kind == TypeKind::Union ? "union " : "struct ") +
                         type->name);
            return type;
        case TypeKind::Enum: // C cannot declare an enum without its body
            return types_.lookup_original(type->is_signed ? "int" : "unsigned int");
        case TypeKind::String:
            return types_.pointer_to(
                types_.qualified(types_.lookup_original("char"), true, false, false));
        case TypeKind::Integer:
            return type->is_bool ? boolean() : type;
        default:
            return type;
        }
    }

    // Returns the Boolean type. Its name is a macro of the generated header.
    const Type* boolean()
    {
        constexpr char name[] = "DTRACE_USDT_BOOL_";
        if (const Type* made = types_.lookup(name))
            return made;
        Type* type = types_.declare(TypeKind::Typedef, name);
        type->base = types_.lookup_original("_Bool");
        type->complete = true;
        return type;
    }

    TypeTable& types_;
    std::set<std::string>& tags_;
};

} // namespace

std::variant<CArgument, std::string> c_argument(const Type* type,
                                                const std::string& name,
                                                TypeTable& types,
                                                std::set<std::string>& tags)
{
    const Type* real = type->resolve();
    if (real->is_struct_or_union())
        return "an argument cannot have the struct or union type " + quoted(type) +
               ": pass its address";
    bool by_address = real->kind == TypeKind::Array || real->is_string() ||
                      real->kind == TypeKind::Function || real->is_pointer();
    if (!by_address && !real->is_arithmetic())
        return "no value can have the type " + quoted(type);
    const std::uint64_t bytes = by_address ? 8 : real->size;
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
        return "an argument can be at most 8 bytes long, so it cannot have the type " +
               quoted(type);
    CArgument argument;
    if (!by_address && real->is_integer() && real->is_signed)
        argument.form = "-";
    argument.form += std::to_string(bytes);
    if (real->is_float())
        argument.form += "f";
    argument.declaration = declaration_text(Plain(types, tags).argument(type), name);
    return argument;
}

} // namespace dt
