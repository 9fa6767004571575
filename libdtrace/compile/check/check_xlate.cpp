// SPDX-License-Identifier: MIT
// Checks translators and their uses. xlate <OUT> (e)->member is replaced with the
// member's expression, with e in place of the translator's parameter. Members that the
// program does not use are not computed.
//
// If the program needs the entire OUT, xlate <OUT> (e) becomes
//   (this->%xN.a = ..., this->%xN.b = ..., this->%xN)
// with a hidden variable for this use. Members that the translator does not mention are
// 0. The value has no address, so xlate <OUT *> (e) must be followed by -> or preceded
// by *. An inline may abbreviate an xlate.
#include "libdtrace/compile/check/check_internal.hpp"

#include "libdtrace/compile/check/arguments.hpp"

namespace dt {

namespace {

const Type* target_struct(const Type* type)
{
    const Type* base = pointee(type);
    return base ? base : type;
}

// Returns a key for a type. Equal types have equal keys; different types may have equal
// keys too.
std::string bucket(const Type* type)
{
    std::string text;
    for (type = type->resolve();
         type->kind == TypeKind::Pointer || type->kind == TypeKind::Array;
         type = type->base->resolve())
        text += type->kind == TypeKind::Pointer ? '*' : '[';
    text += std::to_string(static_cast<int>(type->kind)) + ' ';
    return type->kind == TypeKind::Integer ? text + std::to_string(type->size)
                                           : text + type->name;
}

// Returns a node that replaces the parameter while a translator's members are checked.
NodePtr trial_input(const Type* from, TypeTable& types, Place at)
{
    auto node = std::make_unique<Node>();
    node->at = at;
    if (from->is_string()) {
        node->kind = NodeKind::String;
        return node;
    }
    NodePtr null = make_integer(0, types.pointer_to(types.void_type()), at);
    if (from->is_scalar())
        return make_cast(from, std::move(null), at);
    node->kind = NodeKind::Unary;
    node->op = Op::Deref;
    node->left = make_cast(types.pointer_to(from), std::move(null), at);
    return node;
}

NodePtr joined(Op op, NodePtr left, NodePtr right)
{
    auto node = std::make_unique<Node>();
    node->kind = op == Op::Comma ? NodeKind::Binary : NodeKind::Assign;
    node->op = op;
    node->at = right->at;
    node->left = std::move(left);
    node->right = std::move(right);
    return node;
}

} // namespace

void Checker::translator(std::unique_ptr<Decl>& decl)
{
    if (!decl->to->is_struct_or_union() || is_incomplete(decl->to))
        fail(Tag::XLATE_SOU, decl->at,
             "translator output must be a complete struct or union, not " +
                 quoted(decl->to));
    auto& all = symbols_.translators;
    auto& near =
        symbols_.same_translators[bucket(decl->to) + " < " + bucket(decl->from)];
    for (std::size_t i : near)
        if (i < all.size() && same_type(all[i]->to, decl->to) &&
            same_type(all[i]->from, decl->from))
            fail(Tag::XLATE_REDECL, decl->at,
                 "translator from " + quoted(decl->from) + " to " + quoted(decl->to) +
                     " redeclared");

    for (TranslatorMember& member : decl->members) {
        Member found;
        if (!decl->to->find_member(member.name, found))
            fail(Tag::XLATE_MEMB, member.at,
                 member.name + " is not a member of " + type_text(decl->to));
        NodePtr input = trial_input(decl->from, types_, member.at);
        NodePtr trial = clone(*member.expr);
        substitute(trial, {decl->parameter}, {input.get()});
        expr(trial);
        if (!assignable(found.type, *trial))
            fail(Tag::XLATE_INCOMPAT, member.at,
                 "translator member " + member.name + " has the type " +
                     quoted(found.type) + " but its expression has the type \"" +
                     node_type_text(*trial) + "\"");
    }
    near.push_back(all.size());
    all.push_back(std::move(decl));
}

// Returns the inline that the node names, with or without keys, if the expression of
// the inline is an xlate. Otherwise returns null.
const Ident* Checker::translating_inline(const Node& node)
{
    bool indexed = node.kind == NodeKind::Index;
    const Node& name = indexed ? *node.left : node;
    if (name.kind != NodeKind::Ident || name.scope != Scope::Global ||
        find_variable(Scope::Global, name.text))
        return nullptr;
    auto found = symbols_.inlines.find(name.text);
    if (found == symbols_.inlines.end())
        return nullptr;
    const Ident& ident = *found->second;
    std::size_t n_keys = indexed ? node.args.size() : 0;
    bool translates = ident.inline_expr->kind == NodeKind::Xlate ||
                      translating_inline(*ident.inline_expr) != nullptr;
    return translates && ident.keys.size() == n_keys ? &ident : nullptr;
}

// Returns whether the node is an xlate. If the node is an inline or args[n] that
// abbreviates an xlate, first replaces the node with the xlate.
bool Checker::find_xlate(NodePtr& slot)
{
    if (auto argument = translated_argument(*slot)) {
        uses(weakest(facts_of("args").attributes, arguments_), "identifier args[ ]",
             slot->at);
        slot = translation_of(*argument, slot->at);
    }
    while (const Ident* ident = translating_inline(*slot)) {
        NodePtr body = clone(*ident->inline_expr);
        move_to(*body, slot->at);
        std::vector<NodePtr> keys;
        std::vector<const Node*> replacements;
        for (std::size_t i = 0; i < ident->keys.size(); i++) {
            NodePtr key = std::move(slot->args[i]);
            if (ident->keys[i]->is_scalar())
                key = make_cast(ident->keys[i], std::move(key), slot->at);
            replacements.push_back(key.get());
            keys.push_back(std::move(key));
        }
        substitute(body, ident->inline_parameters, replacements);
        check_expansion(*body, slot->at);
        slot = std::move(body);
    }
    bool dereferenced = slot->kind == NodeKind::Unary && slot->op == Op::Deref;
    if (dereferenced && find_xlate(slot->left) && pointee(slot->left->decl_type)) {
        NodePtr inner = std::move(slot->left);
        inner->decl_type = pointee(inner->decl_type);
        slot = std::move(inner);
    }
    return slot->kind == NodeKind::Xlate;
}

// Finds the translator for an xlate. Prefers a translator whose parameter has exactly
// the operand's type.
const Decl& Checker::find_translator(const Node& xlate)
{
    const Type* to = target_struct(xlate.decl_type);
    NodePtr input = clone(*xlate.left);
    check_expansion(*input, xlate.at);
    expr(input);
    const Decl* compatible = nullptr;
    for (const auto& translator : symbols_.translators) {
        if (!same_type(translator->to, to))
            continue;
        if (same_type(translator->from, input->type))
            return *translator;
        if (compatible == nullptr && accepts(translator->from, *input))
            compatible = translator.get();
    }
    if (compatible == nullptr)
        fail(Tag::XLATE_NONE, xlate.at,
             "no translator from " + quoted(input->type) + " to " + quoted(to));
    return *compatible;
}

// Returns a copy of a member's expression, with the input in place of the parameter.
// The copy has not been checked yet.
NodePtr Checker::translated(const Decl& translator, const TranslatorMember& member,
                            const Node& xlate)
{
    NodePtr body = clone(*member.expr);
    move_to(*body, xlate.at);
    // The input may be NULL or a void *, which the member's expression could not
    // dereference. So the input is cast to the type of the translator's parameter.
    NodePtr input = clone(*xlate.left);
    if (translator.from->is_pointer())
        input = make_cast(translator.from, std::move(input), xlate.at);
    substitute(body, {translator.parameter}, {input.get()});
    check_expansion(*body, xlate.at);
    return body;
}

// Checks the expression of a translator. If a pragma sets attributes for the
// translator, they replace the attributes of the names in the expression.
void Checker::translation(NodePtr& slot, const Decl& translator, Place at)
{
    const bool vouched = translator.attributes.has_value();
    if (vouched)
        uses(*translator.attributes,
             "translator <" + type_text(translator.to) + "> (" +
                 type_text(translator.from) + ")",
             at);
    n_vouched_ += vouched;
    expr(slot);
    n_vouched_ -= vouched;
}

bool Checker::xlate_member(NodePtr& slot)
{
    if (!find_xlate(slot->left))
        return false;
    slot->left->at = slot->at;
    const Decl& translator = find_translator(*slot->left);
    for (const TranslatorMember& member : translator.members) {
        if (member.name != slot->text)
            continue;
        NodePtr body = translated(translator, member, *slot->left);
        translation(body, translator, slot->at);
        Member found;
        translator.to->find_member(slot->text, found);
        if (found.type->is_scalar() && !same_type(found.type, body->type))
            cast_to(body, found.type);
        body->is_lvalue = false;
        slot = std::move(body);
        return true;
    }
    fail(Tag::XLATE_NOCONV, slot->at,
         "translator to " + quoted(translator.to) + " does not define the member " +
             slot->text);
}

void Checker::xlate(NodePtr& slot)
{
    const Decl& translator = find_translator(*slot);
    if (pointee(slot->decl_type))
        fail(Tag::CG_DYN, slot->at,
             "xlate <" + type_text(slot->decl_type) +
                 "> cannot be used as a value; use one of its members: (xlate <" +
                 type_text(slot->decl_type) + "> (...))->NAME");

    const Place at = slot->at;
    const std::string name = "%x" + std::to_string(symbols_.next_variable);
    make_variable(Scope::This, name, IdentKind::Scalar, translator.to, at);
    auto whole = std::make_unique<Node>();
    whole->kind = NodeKind::Ident;
    whole->scope = Scope::This;
    whole->text = name;
    whole->at = at;
    NodePtr built = clone(*whole);
    // The loop runs backwards, because each step adds an assignment at the left end.
    for (std::size_t i = translator.members.size(); i-- > 0;) {
        const TranslatorMember& member = translator.members[i];
        Member found;
        translator.to->find_member(member.name, found);
        NodePtr value = translated(translator, member, *slot);
        if (found.type->is_scalar())
            value = make_cast(found.type, std::move(value), at);
        auto part = std::make_unique<Node>();
        part->kind = NodeKind::Member;
        part->at = at;
        part->text = member.name;
        part->left = clone(*whole);
        built = joined(Op::Comma, joined(Op::None, std::move(part), std::move(value)),
                       std::move(built));
    }
    translation(built, translator, at);
    slot = std::move(built);
}

// Checks an inline of the form `inline T name = xlate <T> (e)`. Returns false if the
// expression is not an xlate. The usual check of an inline would refuse an xlate to a
// pointer type.
bool Checker::inline_translation(Ident& ident)
{
    auto xlate = clone(*ident.inline_expr);
    if (!find_xlate(xlate))
        return false;
    std::vector<NodePtr> keys;
    std::vector<const Node*> replacements;
    for (const Type* type : ident.keys) {
        keys.push_back(trial_input(type, types_, ident.at));
        replacements.push_back(keys.back().get());
    }
    substitute(xlate, ident.inline_parameters, replacements);
    find_translator(*xlate);
    if (!same_type(ident.type, xlate->decl_type))
        fail(Tag::OP_INCOMPAT, ident.at,
             "inline " + ident.name + " is declared as " + quoted(ident.type) +
                 " but its expression has the type " + quoted(xlate->decl_type));
    return true;
}

} // namespace dt
