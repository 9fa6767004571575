// SPDX-License-Identifier: MIT
// Translators. xlate <OUT> (e)->member is the member's expression with e in the place of
// the translator's parameter; members nobody asks for cost nothing. So an xlate is always
// followed by a member: the whole OUT is never built.
#include "libdtrace/compile/check_internal.hpp"

namespace dt {

namespace {

const Type* target_struct(const Type* type)
{
    const Type* base = pointee(type);
    return base ? base : type;
}

// Equal for types that are the same; of types that are not it may be equal, too.
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

} // namespace

void Checker::translator(std::unique_ptr<Decl>& decl)
{
    if (!decl->to->is_struct_or_union())
        fail(Tag::XLATE_SOU, decl->at,
             "translator output must be a struct or union, not " + quoted(decl->to));
    auto& all = symbols_.translators;
    auto& near = symbols_.same_translators[bucket(decl->to) + " < " + bucket(decl->from)];
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
        auto input = std::make_unique<Node>();
        input->kind = NodeKind::Cast;
        input->at = member.at;
        input->decl_type = decl->from;
        input->left = make_integer(0, types_.pointer_to(types_.void_type()), member.at);
        if (!decl->from->is_scalar())
            continue; // a struct by value has no constant to try with
        NodePtr trial = clone(*member.expr);
        substitute(trial, {decl->parameter}, {input.get()});
        expr(trial);
        if (!assignable(found.type, *trial))
            fail(Tag::XLATE_INCOMPAT, member.at,
                 "translator member " + member.name + " has the type " +
                     quoted(found.type) + " but its expression \"" +
                     node_type_text(*trial) + "\"");
    }
    near.push_back(all.size());
    all.push_back(std::move(decl));
}

bool Checker::xlate_member(NodePtr& slot)
{
    if (slot->left->kind != NodeKind::Xlate)
        return false;
    Node& translation = *slot->left;
    const Type* to = target_struct(translation.decl_type);
    NodePtr input = clone(*translation.left);
    expr(input);
    for (const auto& translator : symbols_.translators) {
        if (!same_type(translator->to, to) ||
            !(same_type(translator->from, input->type) ||
              pointers_compatible(translator->from, input->type)))
            continue;
        for (const TranslatorMember& member : translator->members) {
            if (member.name != slot->text)
                continue;
            NodePtr body = clone(*member.expr);
            move_to(*body, slot->at);
            substitute(body, {translator->parameter}, {translation.left.get()});
            check_expansion(*body, slot->at);
            const bool vouched = translator->attributes.has_value();
            if (vouched)
                uses(*translator->attributes,
                     "translator <" + type_text(to) + "> (" +
                         type_text(translator->from) + ")",
                     slot->at);
            n_vouched_ += vouched;
            expr(body);
            n_vouched_ -= vouched;
            Member found;
            to->find_member(slot->text, found);
            if (found.type->is_scalar() && !same_type(found.type, body->type))
                cast_to(body, found.type);
            body->is_lvalue = false;
            slot = std::move(body);
            return true;
        }
        fail(Tag::XLATE_NOCONV, slot->at,
             "translator to " + quoted(to) + " does not define the member " +
                 slot->text);
    }
    fail(Tag::XLATE_NONE, slot->at,
         "no translator from " + quoted(input->type) + " to " + quoted(to));
}

void Checker::xlate(NodePtr& slot)
{
    fail(Tag::XLATE_SOU, slot->at,
         "xlate <" + type_text(slot->decl_type) +
             "> must be followed by a member: (xlate <...> (...))->name");
}

} // namespace dt
