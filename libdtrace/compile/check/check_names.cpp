// SPDX-License-Identifier: MIT
// Names. A plain name is looked up in this order: D variable, builtin, inline,
// enumerator, predefined constant, register name, enumerator of the kernel. A name with
// a backquote is a symbol of the target or of the kernel (check_kernel.cpp). Functions
// and aggregations have name spaces of their own.
//
// A use of an inline is replaced with a copy of its expression, and the copy is
// checked.
#include "libdtrace/compile/check/check_internal.hpp"

#include "dif/vars.h"
#include "libdtrace/compile/types/constants.hpp"
#include "libdtrace/symbols/suggest.hpp"

namespace dt {

Ident* Checker::find_variable(Scope scope, const std::string& name)
{
    auto found = symbols_.variables.find({scope, name});
    return found == symbols_.variables.end() ? nullptr : found->second.get();
}

Ident* Checker::make_variable(Scope scope, const std::string& name, IdentKind kind,
                              const Type* type, Place at)
{
    if (symbols_.next_variable > DIF_VAR_OTHER_MAX)
        fail(Tag::ID_OFLOW, at,
             "too many variables: no variable id is left for " + name);
    auto ident = std::make_unique<Ident>();
    ident->kind = kind;
    ident->scope = scope;
    ident->name = name;
    ident->id = symbols_.next_variable++;
    ident->type = type;
    ident->at = at;
    take_pragmas(*ident);
    return (symbols_.variables[{scope, name}] = std::move(ident)).get();
}

Ident* Checker::builtin(const VariableRow& row, Place at)
{
    const bool is_of_stack = row.id == DIF_VAR_caller || row.id == DIF_VAR_stackdepth;
    if (row.source == VariableRow::Source::KERNEL &&
        !(is_of_stack && has_sampled_stack())) {
        if (!options_.kernel)
            fail(Tag::VAR_UNSUP, at, std::string(row.name) + ": " + needs_module);
        uses_kernel();
    }
    auto& ident = symbols_.builtins[{IdentKind::Builtin, row.name}];
    if (!ident) {
        ident = std::make_unique<Ident>();
        ident->kind = IdentKind::Builtin;
        ident->name = row.name;
        ident->id = row.id;
        ident->type = kernel_type_of(row.name);
        if (ident->type == nullptr)
            ident->type = parse_type_text(row.type, types_);
        ident->declared = true;
        ident->attributes = facts_of(row.name).attributes;
        if (!ident->type)
            fail(Tag::VAR_UNSUP, at,
                 std::string(row.name) + ": its type " + row.type + " is not known");
    }
    ident->referenced = true;
    uses(*ident, at);
    return ident.get();
}

std::string Checker::suggestion(std::string_view name,
                                const std::vector<std::string_view>& more) const
{
    Suggestions near(name);
    for (std::string_view candidate : more)
        if (is_there(candidate))
            near.consider(candidate);
    return did_you_mean(near.nearest(1));
}

void Checker::undefined_variable(const Node& name, bool indexed)
{
    std::vector<std::string_view> known;
    for (const auto& [key, ident] : symbols_.variables)
        if (key.first == name.scope)
            known.emplace_back(key.second);
    if (name.scope != Scope::Global)
        fail(Tag::VAR_UNDEF, name.at,
             scoped_name(name.scope, name.text) +
                 " has not yet been declared or assigned" +
                 suggestion(name.text, known));
    if (find_subroutine_row(name.text) || find_action_row(name.text) ||
        find_agg_row(name.text))
        fail(Tag::IDENT_BADREF, name.at,
             "function " + name.text + "( ) may not be referenced as a scalar");
    for (const auto& entry : symbols_.inlines)
        known.emplace_back(entry.first);
    for (std::string_view row : variable_names())
        known.push_back(row);
    const std::string hint =
        is_there(name.text) ? suggestion(name.text, known) : version_hint(name.text);
    if (indexed)
        fail(Tag::VAR_UNDEF, name.at,
             name.text + " has not yet been declared or assigned" + hint);
    fail(Tag::IDENT_UNDEF, name.at,
         "failed to resolve " + name.text + ": Unknown variable name" + hint);
}

void Checker::identifier(NodePtr& slot, bool indexed)
{
    Node& node = *slot;
    if (node.scope == Scope::Global && node.text.find('`') != std::string::npos) {
        symbol(slot, false);
        return;
    }

    if (Ident* ident = find_variable(node.scope, node.text)) {
        if (ident->kind == IdentKind::AssocArray)
            fail(Tag::IDENT_BADREF, node.at,
                 "associative array " + scoped_name(node.scope, node.text) +
                     "[ ] may not be referenced as a scalar");
        const Type* in = nullptr;
        if (node.scope == Scope::Global && !ident->declared &&
            types_.find_enumerator(node.text, in))
            fail(Tag::IDENT_AMBIG, node.at,
                 node.text +
                     " is ambiguous: it is both a variable and an enumerator of " +
                     quoted(in));
        ident->referenced = true;
        uses(*ident, node.at);
        node.ident = ident;
        node.type = ident->type;
        node.is_lvalue = true;
        node.userland = is_userland(ident->type);
        node.alloca_pointer = ident->alloca_pointer;
        return;
    }
    if (node.scope != Scope::Global)
        undefined_variable(node, indexed);

    if (derived_argument(slot))
        return;
    const VariableRow* row = find_variable_row(node.text);
    if (row) {
        if (row->array)
            fail(Tag::IDENT_BADREF, node.at,
                 node.text + "[ ] is an array and may not be referenced as a scalar");
        n_vouched_ += node.defines; // definitions do not affect stability
        node.ident = builtin(*row, node.at);
        n_vouched_ -= node.defines;
        node.type = node.ident->type;
        return;
    }
    if (is_structure(node.text) && is_there(node.text))
        no_address(node);
    auto found = symbols_.inlines.find(node.text);
    if (found != symbols_.inlines.end()) {
        expand_inline(slot, *found->second, {});
        return;
    }

    const Type* in = nullptr;
    if (const Enumerator* enumerator = types_.find_enumerator(node.text, in)) {
        slot = make_integer(static_cast<std::uint64_t>(enumerator->value), in, node.at);
        return;
    }
    if (node.text == "NULL") {
        NodePtr null = make_integer(0, types_.pointer_to(types_.void_type()), node.at);
        null->text = "NULL"; // marks the constant as compatible with integers
        slot = std::move(null);
        return;
    }
    if (const std::int64_t* constant = find_constant(node.text)) {
        slot = make_integer(static_cast<std::uint64_t>(*constant), types_.int_type(),
                            node.at);
        return;
    }
    if (auto index = find_ureg(node.text)) {
        slot = make_integer(*index, types_.int_type(), node.at);
        return;
    }
    if (auto value = kernel_enumerator(node.text)) {
        slot = make_integer(static_cast<std::uint64_t>(*value), types_.int_type(),
                            node.at);
        return;
    }
    undefined_variable(node, indexed);
}

// Replaces a symbol of the target with its value, or with its address as an integer
// constant.
void Checker::symbol(NodePtr& slot, bool address_only)
{
    const std::string text = slot->text;
    const Place at = slot->at;
    if (auto value = context_.target.enumerator(text); value && !address_only) {
        slot = make_integer(static_cast<std::uint64_t>(*value), types_.int_type(), at);
        return;
    }
    auto variable = context_.target.variable(text);
    if (!variable)
        fail(Tag::IDENT_UNDEF, at,
             "failed to resolve " + text + ": Unknown symbol name" +
                 context_.target.why_no_variable(text));
    if (variable->of_kernel)
        return kernel_symbol(slot, address_only, *variable);
    // a target's symbols have no stability guarantee
    uses(Attributes{}, "symbol " + text, at);
    const Type* type = variable->type;
    if (!type && !address_only)
        fail(Tag::SYM_NOTYPES, at,
             "symbol " + text + " has no type" + context_.target.why_no_type(text) +
                 "; its address is &" + text +
                 ", which can be cast to a pointer or passed to copyin( )");
    NodePtr pointer = make_integer(
        variable->addr, types_.pointer_to(type ? type : types_.void_type(), true), at);
    pointer->userland = true;
    if (address_only) {
        slot = std::move(pointer);
        return;
    }
    slot = std::make_unique<Node>();
    slot->kind = NodeKind::Unary;
    slot->op = Op::Deref;
    slot->at = at;
    slot->left = std::move(pointer);
    deref(*slot);
}

// Limits the expansion of inlines. If each inline uses the previous inline twice, forty
// lines could exhaust all memory.
void Checker::check_expansion(const Node& body, Place at)
{
    // The limit grows with the program's text, because a long program may use inlines
    // often.
    constexpr std::size_t least = 200000;
    constexpr std::size_t per_byte = 4;
    const std::size_t most = least + per_byte * context_.text.size();
    n_expanded_ += count_nodes(body);
    if (n_expanded_ > most)
        fail(Tag::SYNTAX, at,
             "inlines and translators expand to more than " + std::to_string(most) +
                 " operations");
}

void Checker::expand_inline(NodePtr& slot, Ident& ident, std::vector<NodePtr> arguments)
{
    const Place at = slot->at;
    if (arguments.size() != ident.keys.size())
        fail(Tag::PROTO_LEN, at,
             ident.name +
                 "[ ] prototype mismatch: " + std::to_string(arguments.size()) +
                 (arguments.size() == 1 ? " arg" : " args") + " passed, " +
                 std::to_string(ident.keys.size()) + " expected");

    std::vector<NodePtr> casts;
    std::vector<const Node*> replacements;
    for (std::size_t i = 0; i < arguments.size(); i++) {
        NodePtr copy = clone(*arguments[i]);
        check_expansion(*copy, at);
        expr(copy);
        if (!accepts(ident.keys[i], *copy))
            fail(Tag::PROTO_ARG, arguments[i]->at,
                 ident.name + "[ ] key #" + std::to_string(i + 1) +
                     " is incompatible with prototype:\n\tprototype: " +
                     type_text(ident.keys[i]) +
                     "\n\t      key: " + node_type_text(*copy));
        NodePtr cast = std::move(arguments[i]);
        if (ident.keys[i]->is_scalar()) {
            NodePtr inner = std::move(cast);
            cast = std::make_unique<Node>();
            cast->kind = NodeKind::Cast;
            cast->at = at;
            cast->decl_type = ident.keys[i];
            cast->left = std::move(inner);
        }
        replacements.push_back(cast.get());
        casts.push_back(std::move(cast));
    }

    // The inline's expression may have been folded to a constant. Then the check of the
    // copy does not call uses_kernel().
    if (ident.needs_kernel)
        uses_kernel();
    NodePtr body = clone(*ident.inline_expr);
    move_to(*body, at);
    substitute(body, ident.inline_parameters, replacements);
    check_expansion(*body, at);
    if (ident.attributed)
        uses(ident, at);
    n_vouched_ += ident.attributed;
    expr(body);
    n_vouched_ -= ident.attributed;
    if (!is_dynamic(ident.type) && !accepts(ident.type, *body) &&
        !(ident.type->is_scalar() && body->type->is_scalar()))
        fail(Tag::OP_INCOMPAT, ident.at,
             "inline " + ident.name + " is declared as " + quoted(ident.type) +
                 " but its expression has the type \"" + node_type_text(*body) + "\"");
    if (!same_type(body->type, ident.type))
        cast_to(body, ident.type);
    body->type = ident.type;
    body->is_lvalue = false;
    slot = std::move(body);
}

} // namespace dt
