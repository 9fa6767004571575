// SPDX-License-Identifier: MIT
// Declarators and type names (see parser.hpp).
//
// A declarator is read from its name outward: "*(*f)[4]" says that f is a pointer to an
// array of 4 pointers to the base type. layers() collects these layers in that order.
// declarator() applies them in the reverse order. The keys of an associative array are
// the layer next to the name.
#include "libdtrace/compile/parse/parser.hpp"

#include <algorithm>
#include <climits>

namespace dt {

// Returns the type if it is valid for an object. Fails with DECL_VOIDOBJ for void,
// DECL_COMBO for a function, and DECL_INCOMPLETE for an incomplete type.
const Type* Parser::whole_type(const Type* type, Place place,
                               std::string_view what) const
{
    const Type* element = type->resolve();
    if (element->kind == TypeKind::Void)
        fail(Tag::DECL_VOIDOBJ, place,
             "cannot declare void object: " + std::string(what));
    if (element->kind == TypeKind::Function)
        fail(Tag::DECL_COMBO, place,
             "cannot declare object of function type: " + std::string(what));
    if (!element->complete)
        fail(Tag::DECL_INCOMPLETE, place,
             "incomplete struct/union/enum " + type_text(element) + ": " +
                 std::string(what));
    return type;
}

// Returns the type for a D object, without the qualifier "userland", because D objects
// are stored in D's memory. Pointers in the type keep the qualifier.
const Type* Parser::of_own(const Type* type)
{
    bool is_marked =
        type->kind == TypeKind::Typedef && type->name.empty() && type->userland;
    return is_marked ? context_.types.qualified(type->base, type->is_const,
                                                type->is_volatile, false)
                     : type;
}

Parser::Declarator Parser::declarator(const Specifiers& base, Names names)
{
    Declarator result;
    result.at = token_.at;
    std::vector<Layer> found;
    layers(found, result, names);
    c_extras(result.attributes);
    result.attributes.add(base.attributes);
    const Type* type = base.type;
    for (std::size_t i = found.size(); i-- > 0;) {
        if (found[i].kind != Layer::Keys) {
            type = apply(found[i], type);
            continue;
        }
        if (i != 0)
            fail(Tag::DECL_ARRSUB, found[i].at,
                 "tuple signature may only follow the name of an array: " +
                     result.name);
        result.has_keys = true;
        result.keys = std::move(found[i].parameters);
    }
    type = with_attributes(type, result.attributes, result.at);
    result.type = base.storage == Storage::Typedef ? type : of_own(type);
    return result;
}

void Parser::layers(std::vector<Layer>& into, Declarator& named, Names names)
{
    Depth depth(*this);
    std::vector<Layer> pointers;
    for (c_extras(named.attributes); at(Tok::Star);)
        pointers.push_back(pointer_layer());
    c_extras(named.attributes);
    direct_layers(into, named, names);
    for (std::size_t i = pointers.size(); i-- > 0;)
        into.push_back(std::move(pointers[i]));
    if (into.size() > static_cast<std::size_t>(max_depth))
        fail(Tag::SYNTAX, named.at,
             "declarator nested too deeply: more than " + std::to_string(max_depth) +
                 " levels");
}

void Parser::direct_layers(std::vector<Layer>& into, Declarator& named, Names names)
{
    bool is_word =
        at(Tok::Ident) || (at(Tok::Keyword) && keyword_is_member_name(token_.key) &&
                           (names == Names::Member || !starts_type(token_) ||
                            (token_.at.c_header && names_member())));
    if (is_word && names != Names::None) {
        if (token_.text.find('`') != std::string::npos)
            fail(Tag::DECL_SCOPE, token_.at,
                 "scope operator may not be used in a declaration: " + token_.text);
        named.at = token_.at;
        named.name = token_.text;
        advance();
    } else if (at(Tok::LParen)) {
        // "(" starts a nested declarator. If the declarator has no name, "(" may also
        // start a parameter list.
        const Token& second = peek();
        bool is_list = names != Names::Needed && names != Names::Member &&
                       (second.kind == Tok::RParen || starts_type(second));
        if (!is_list) {
            advance();
            layers(into, named, names);
            expect(Tok::RParen);
        }
    } else if (names == Names::Needed || names == Names::Member) {
        syntax_error();
    }
    c_extras(named.attributes);
    while (at(Tok::LBracket) || at(Tok::LParen))
        into.push_back(at(Tok::LBracket) ? bracket_layer() : parameter_layer());
}

Parser::Layer Parser::pointer_layer()
{
    Layer layer;
    layer.at = token_.at;
    advance();
    for (;; advance()) {
        if (at(Key::Const))
            layer.is_const = true;
        else if (at(Key::Volatile))
            layer.is_volatile = true;
        else if (at(Key::Userland))
            layer.userland = true;
        else if (!at(Key::Restrict) && !at(CWord::Atomic))
            return layer;
    }
}

// Reads [], [constant], or [type, type].
Parser::Layer Parser::bracket_layer()
{
    Layer layer;
    layer.kind = Layer::Array;
    layer.at = token_.at;
    advance();
    if (accept(Tok::RBracket))
        return layer;
    if (c_parameters_ > 0 && parameter_bracket(layer))
        return layer;
    if (starts_type(token_) || starts_declaration() || at(Tok::Ellipsis)) {
        layer.kind = Layer::Keys;
        layer.parameters = parameters(Tok::RBracket);
        if (layer.parameters.varargs)
            fail(Tag::DECL_PROTO_VARARGS, layer.at,
                 "associative array signature may not be of variable length");
        return layer;
    }
    auto count = constant_expression();
    bool flexible = count && *count == 0 && layer.at.c_header; // GCC's a[0]
    if (!count || (*count <= 0 && !flexible))
        fail(Tag::DECL_ARRSUB, layer.at,
             "positive integral constant expression or tuple signature expected as "
             "array declaration subscript");
    if (*count > INT_MAX)
        fail(Tag::DECL_ARRBIG, layer.at,
             "array dimension is too big: " + std::to_string(*count));
    layer.sized = *count > 0;
    layer.count = static_cast<std::uint64_t>(*count);
    expect(Tok::RBracket);
    return layer;
}

Parser::Layer Parser::parameter_layer()
{
    Layer layer;
    layer.kind = Layer::Function;
    layer.at = token_.at;
    advance();
    if (at(Tok::Ident) && token_.c_word == CWord::None && !is_type_name(token_.text))
        fail(Tag::DECL_IDENT, token_.at,
             "old-style declaration or incorrect type specified: " + token_.text);
    const bool is_c = layer.at.c_header;
    c_parameters_ += is_c;
    layer.parameters = parameters(Tok::RParen);
    c_parameters_ -= is_c;
    return layer;
}

// Reads the types of parameters or keys, with or without names, up to and including the
// closing bracket. (void) is an empty list.
Parser::Parameters Parser::parameters(Tok close)
{
    Parameters list;
    if (accept(close))
        return list;
    bool has_void = false;
    do {
        Place place = token_.at;
        if (at(Tok::Ellipsis)) {
            if (has_void)
                fail(Tag::DECL_PROTO_VOID, place, "void must be sole parameter");
            advance();
            list.varargs = true;
            break;
        }
        if (in_probe_ && at(Tok::Ident) && !starts_type(token_))
            fail(Tag::TYPE_ERR, place,
                 "failed to resolve " + token_.text +
                     ": Unknown type name; declare it before the provider");
        Specifiers base = specifiers();
        bool is_register = base.storage == Storage::Other && place.c_header;
        if ((base.storage != Storage::None && !is_register) ||
            base.scope != Scope::Global)
            fail(Tag::DECL_PARMCLASS, place,
                 "inappropriate storage class for function or associative array "
                 "parameter");
        Declarator one = declarator(base, Names::Optional);
        const Type* real = one.type->resolve();
        if (one.has_keys)
            fail(Tag::DECL_PROTO_TYPE, place,
                 "associative array may not be a parameter");
        if (!one.name.empty() && !in_probe_ &&
            std::count(list.names.begin(), list.names.end(), one.name))
            fail(Tag::DECL_PROTO_FORM, place,
                 "parameter is already declared: " + one.name);
        if (real->kind == TypeKind::Void) {
            if (close == Tok::RBracket)
                fail(Tag::DECL_PROTO_TYPE, place,
                     "void may not be a key of an associative array");
            if (!one.name.empty())
                fail(Tag::DECL_PROTO_NAME, place, "parameter of type void has a name");
            has_void = true;
            list.types.push_back(one.type);
        } else {
            // A parameter of array or function type becomes a pointer, as in C.
            if (real->kind == TypeKind::Array && close == Tok::RParen)
                one.type = context_.types.pointer_to(real->base);
            else if (real->kind == TypeKind::Function)
                one.type = context_.types.pointer_to(one.type);
            list.types.push_back(one.type);
        }
        list.names.push_back(std::move(one.name));
        if (has_void && list.types.size() > 1)
            fail(Tag::DECL_PROTO_VOID, place, "void must be sole parameter");
    } while (accept(Tok::Comma));
    expect(close);
    if (has_void) {
        list.types.clear();
        list.names.clear();
    }
    return list;
}

const Type* Parser::apply(const Layer& layer, const Type* base)
{
    TypeTable& types = context_.types;
    TypeKind kind = base->resolve()->kind;
    switch (layer.kind) {
    case Layer::Pointer: {
        const Type* pointer = types.pointer_to(base, layer.userland || base->userland);
        return types.qualified(pointer, layer.is_const, layer.is_volatile, false);
    }
    case Layer::Function:
        if (kind == TypeKind::Function || kind == TypeKind::Array)
            fail(Tag::DECL_COMBO, layer.at,
                 "function may not return a function or an array");
        return types.function_of(of_own(base), layer.parameters.types,
                                 layer.parameters.varargs);
    default:
        break;
    }
    base = of_own(base);
    if (kind == TypeKind::Array && !base->resolve()->complete)
        fail(Tag::DECL_ARRNULL, layer.at,
             "the elements of an array may not be arrays without a dimension");
    if (kind == TypeKind::Void || kind == TypeKind::Function ||
        (!base->resolve()->complete))
        whole_type(base, layer.at, "array element");
    if (layer.sized && base->resolve()->size > INT_MAX / layer.count)
        fail(Tag::DECL_ARRBIG, layer.at,
             "array dimension is too big: " + std::to_string(layer.count));
    return types.array_of(base, layer.count, layer.sized);
}

// Reads a type in parentheses or angle brackets.
const Type* Parser::type_name()
{
    n_type_names_++;
    Specifiers base = specifiers();
    n_type_names_--;
    if (base.storage != Storage::None || base.scope != Scope::Global)
        fail(Tag::DECL_BADCLASS, base.at,
             "storage class may not be used in a type name");
    Declarator result = declarator(base, Names::None);
    if (result.has_keys)
        fail(Tag::DECL_ARRSUB, result.at,
             "tuple signature may not be used in a type name");
    return result.type;
}

} // namespace dt
