// SPDX-License-Identifier: MIT
// Checks formats against arguments. In printf, each * and each conversion uses one
// argument. In printa, each * and each conversion without @ uses a key. Conversions
// with @ use the values of the aggregations in order. If there are too few
// aggregations, the last one is used again.
//
// A column of FORMAT_CONVERSIONS says which types a conversion accepts. A length
// modifier (%ld, %lld) does not restrict the size of an integer argument, except that
// %h accepts at most two bytes.
#include "libdtrace/compile/check/check_internal.hpp"

#include <cstring>

namespace dt {

namespace {

constexpr std::size_t short_bytes = 2;
constexpr std::size_t format_int_bytes = 4;

bool is_char_array(const Type* type)
{
    return is_array(type) && type->is_string_compatible();
}

bool takes(FormatTakes what, const Type* type)
{
    const Type* r = type->resolve();
    bool address = r->is_integer() || r->is_pointer();
    switch (what) {
    case FormatTakes::ADDRESS:
    case FormatTakes::UADDRESS:
        return address || r->kind == TypeKind::SymAddr || r->kind == TypeKind::UsymAddr;
    case FormatTakes::CHAR:
        return r->is_integer() && r->size <= format_int_bytes;
    case FormatTakes::SHORT:
        return r->is_integer() && r->size <= short_bytes;
    case FormatTakes::INT:
    case FormatTakes::TIME:
        return r->is_integer();
    case FormatTakes::FLOAT:
        return r->is_float();
    case FormatTakes::PORT:
        return r->is_integer() && r->size == short_bytes && !r->is_signed;
    case FormatTakes::STACK:
        return r->kind == TypeKind::Stack;
    case FormatTakes::POINTER:
        return address || is_array(r);
    case FormatTakes::HOST:
    case FormatTakes::STRING:
        return r->is_string() || is_char_array(r);
    case FormatTakes::WCHAR:
        return r->is_integer() && r->size == format_int_bytes;
    case FormatTakes::WSTRING: {
        const Type* element = is_array(r) ? pointee(r)->resolve() : nullptr;
        return element && element->is_integer() && element->size == format_int_bytes;
    }
    }
    return false;
}

// Returns whether the conversion can print the value of an aggregation.
bool takes_aggregation(const FormatRow& row)
{
    return row.takes == FormatTakes::INT || row.takes == FormatTakes::SHORT ||
           row.takes == FormatTakes::POINTER || row.takes == FormatTakes::TIME ||
           row.takes == FormatTakes::CHAR || row.takes == FormatTakes::ADDRESS ||
           row.takes == FormatTakes::FLOAT;
}

std::string conversion_name(std::size_t n, const Conversion& conversion)
{
    return "conversion #" + std::to_string(n) + " (%" + conversion.name + ")";
}

[[noreturn]] void mismatch(const Node& call, Place at, const std::string& what,
                           std::size_t n, const Conversion& conversion,
                           const std::string& type)
{
    const FormatRow* row = find_format_row(conversion.name);
    fail(Tag::PRINTF_ARG_TYPE, at,
         call_name(call) + " " + what + " is incompatible with conversion #" +
             std::to_string(n) + " prototype:\n\tconversion: %" + conversion.name +
             "\n\t prototype: " + row->called + "\n\t  argument: " + type);
}

std::shared_ptr<Format> parsed(const Node& call, const Node& text)
{
    try {
        return std::make_shared<Format>(parse_format(text.text, text.at));
    } catch (CompileError& error) {
        error.diagnostic.text = call_name(call) + " " + error.diagnostic.text;
        throw;
    }
}

} // namespace

void Checker::check_printf(Node& call)
{
    NodePtr text = std::move(call.args.front());
    call.args.erase(call.args.begin());
    if (text->kind != NodeKind::String) {
        expr(text);
        if (text->kind != NodeKind::String)
            fail(
                text->type->is_string() ? Tag::PRINTF_ARG_FMT : Tag::PROTO_ARG,
                text->at,
                call_name(call) +
                    " argument #1 is incompatible with prototype:\n\tprototype: string "
                    "constant\n\t argument: " +
                    node_type_text(*text));
    }
    call.format = parsed(call, *text);

    for (NodePtr& argument : call.args) {
        if (argument->kind == NodeKind::Aggregate)
            fail(Tag::PRINTF_ARG_TYPE, argument->at,
                 call_name(call) + " cannot print the aggregation @" + argument->text +
                     ": use printa( )");
        if (argument->kind == NodeKind::Call)
            if (const ActionRow* row = find_action_row(argument->text);
                row && std::strncmp(row->prototype, "void", 4) == 0)
                fail(Tag::PRINTF_ARG_TYPE, argument->at,
                     call_name(call) + " cannot print " + call_name(*argument) +
                         ", which has no value");
        expr(argument);
        // a void argument is refused later, because no conversion accepts it
        if (!is_void(argument->type))
            require_value(*argument);
        if (argument->kind == NodeKind::Integer && argument->text == "NULL")
            argument->type = types_.int64_type();
    }

    std::size_t next = 0;
    std::size_t n = 0;
    auto dynamic = [&](bool present, const Conversion& conversion, const char* what) {
        if (!present)
            return;
        if (next >= call.args.size())
            fail(Tag::PRINTF_DYN_PROTO, call.at,
                 call_name(call) +
                     " prototype mismatch: " + conversion_name(n, conversion) +
                     " has no argument for its " + what + " (*)");
        if (!call.args[next]->type->is_integer())
            fail(Tag::PRINTF_DYN_TYPE, call.args[next]->at,
                 call_name(call) + " argument #" + std::to_string(next + 2) +
                     " is incompatible with conversion #" + std::to_string(n) +
                     " prototype:\n\tconversion: *\n\t prototype: int\n\t  argument: " +
                     node_type_text(*call.args[next]));
        next++;
    };
    for (const Conversion& conversion : call.format->conversions) {
        if (conversion.name.empty())
            continue;
        n++;
        if (conversion.aggregate)
            fail(Tag::PRINTF_AGG_CONV, call.at,
                 call_name(call) + " " + conversion_name(n, conversion) +
                     " prints an aggregation (%@), which is allowed only in printa( )");
        dynamic(conversion.dynamic_width, conversion, "width");
        dynamic(conversion.dynamic_precision, conversion, "precision");
        if (next >= call.args.size())
            fail(Tag::PRINTF_ARG_PROTO, call.at,
                 call_name(call) + " prototype mismatch: " +
                     conversion_name(n, conversion) + " has no argument");
        const Node& argument = *call.args[next];
        if (!takes(find_format_row(conversion.name)->takes, argument.type))
            mismatch(call, argument.at, "argument #" + std::to_string(next + 2), n,
                     conversion, node_type_text(argument));
        next++;
    }
    if (next < call.args.size())
        fail(Tag::PRINTF_ARG_EXTRA, call.args[next]->at,
             call_name(call) + " prototype mismatch: the format takes only " +
                 std::to_string(next) + (next == 1 ? " argument, " : " arguments, ") +
                 std::to_string(call.args.size()) + " passed");
}

void Checker::check_printa(Node& call)
{
    NodePtr text;
    if (call.args.front()->kind != NodeKind::Aggregate) {
        text = std::move(call.args.front());
        call.args.erase(call.args.begin());
        if (text->kind != NodeKind::String) {
            expr(text);
            fail(Tag::PRINTA_AGGARG, text->at,
                 call_name(call) +
                     " argument #1 is incompatible with prototype:\n\tprototype: "
                     "string constant or aggregation\n\t argument: " +
                     node_type_text(*text));
        }
        if (call.args.empty())
            fail(Tag::PRINTA_PROTO, call.at,
                 "printa( ) prototype mismatch: an aggregation is expected after the "
                 "format");
    }
    for (NodePtr& argument : call.args)
        named_aggregation(call, *argument, Tag::PRINTA_AGGARG, Tag::PRINTA_AGGBAD);

    const Ident& first = *call.args.front()->ident;
    for (const NodePtr& argument : call.args) {
        const Ident& other = *argument->ident;
        if (other.keys.size() != first.keys.size())
            fail(Tag::PRINTA_AGGKEY, argument->at,
                 "printa( ): @" + other.name + " has " +
                     std::to_string(other.keys.size()) + " keys and @" + first.name +
                     " has " + std::to_string(first.keys.size()));
        for (std::size_t i = 0; i < first.keys.size(); i++) {
            bool fits = same_type(first.keys[i], other.keys[i]) ||
                        (first.keys[i]->is_integer() && other.keys[i]->is_integer()) ||
                        (first.keys[i]->is_string_compatible() &&
                         other.keys[i]->is_string_compatible());
            if (!fits)
                fail(Tag::PRINTA_AGGPROTO, argument->at,
                     "printa( ): key #" + std::to_string(i + 1) + " of @" + other.name +
                         " is incompatible with that of @" + first.name +
                         ":\n\tprototype: " + type_text(first.keys[i]) +
                         "\n\t      key: " + type_text(other.keys[i]));
        }
    }
    if (!text)
        return;

    call.format = parsed(call, *text);
    std::size_t n = 0;
    std::size_t key = 0;
    auto dynamic = [&](bool present, const Conversion& conversion) {
        if (!present)
            return;
        if (key >= first.keys.size())
            fail(Tag::PRINTF_DYN_PROTO, call.at,
                 call_name(call) +
                     " prototype mismatch: " + conversion_name(n, conversion) +
                     " has no key for its *: the number of keys in @" + first.name +
                     " is " + std::to_string(first.keys.size()));
        if (!first.keys[key]->is_integer())
            fail(Tag::PRINTF_DYN_TYPE, call.at,
                 call_name(call) + " key #" + std::to_string(key + 1) +
                     " is incompatible with conversion #" + std::to_string(n) +
                     " prototype:\n\tconversion: *\n\t prototype: int\n\t       key: " +
                     type_text(first.keys[key]));
        key++;
    };
    for (const Conversion& conversion : call.format->conversions) {
        if (conversion.name.empty())
            continue;
        n++;
        const FormatRow& row = *find_format_row(conversion.name);
        dynamic(conversion.dynamic_width, conversion);
        dynamic(conversion.dynamic_precision, conversion);
        if (conversion.aggregate) {
            if (!takes_aggregation(row))
                fail(Tag::PRINTF_AGG_CONV, call.at,
                     call_name(call) + " " + conversion_name(n, conversion) +
                         " cannot print the value of an aggregation");
            continue;
        }
        if (key >= first.keys.size())
            fail(Tag::PRINTF_ARG_PROTO, call.at,
                 call_name(call) +
                     " prototype mismatch: " + conversion_name(n, conversion) +
                     " has no key: the number of keys in @" + first.name + " is " +
                     std::to_string(first.keys.size()));
        if (!takes(row.takes, first.keys[key]))
            mismatch(call, call.at, "key #" + std::to_string(key + 1), n, conversion,
                     type_text(first.keys[key]));
        key++;
    }
}

} // namespace dt
