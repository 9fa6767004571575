// SPDX-License-Identifier: MIT
#include "libdtrace/compile/generate/tree_facts.hpp"

#include "dif/subrs.h"
#include "libdtrace/compile/generate/generate.hpp"

#include <algorithm>

namespace dt {

namespace {

constexpr int max_fact_depth = 2000;

bool subroutine_has_effects(std::uint32_t number)
{
    switch (number) {
    case DIF_SUBR_rand:
    case DIF_SUBR_speculation:
    case DIF_SUBR_copyout:
    case DIF_SUBR_copyoutstr:
    case DIF_SUBR_bcopy:
    case DIF_SUBR_copyinto:
    case DIF_SUBR_strtok:
        return true;
    default:
        return false;
    }
}

} // namespace

const TreeFacts::Facts& TreeFacts::of(const Node& node)
{
    if (auto known = facts_.find(&node); known != facts_.end())
        return known->second;
    if (++depth_ > max_fact_depth)
        fail(Tag::CG_EXPR, node.at, "expression is nested too deeply");
    Facts computed = compute(node);
    depth_--;
    return facts_.emplace(&node, computed).first->second;
}

TreeFacts::Facts TreeFacts::compute(const Node& node)
{
    Facts out;
    auto include = [&](const Node& part, int held) {
        const Facts& its = of(part);
        out.registers = std::max(out.registers, its.registers + held);
        out.uses_tuple |= its.uses_tuple;
        out.has_effects |= its.has_effects;
    };

    if (node.kind == NodeKind::Binary && node.op != Op::Comma &&
        node.op != Op::LogAnd && node.op != Op::LogOr) {
        bool swapped = right_first(*node.left, *node.right);
        include(swapped ? *node.right : *node.left, 0);
        include(swapped ? *node.left : *node.right, 1);
        return out;
    }
    if (node.cond)
        include(*node.cond, 0);
    if (node.left)
        include(*node.left, node.kind == NodeKind::Assign ? 1 : 0);
    if (node.right)
        include(*node.right, 0);

    // Arguments are pushed only after the last argument that flushes the tuple. Until
    // then, the values of earlier arguments are kept in registers.
    std::size_t waiting = 0;
    for (std::size_t i = 0; i < node.args.size(); i++)
        if (of(*node.args[i]).uses_tuple)
            waiting = i + 1;
    for (std::size_t i = 0; i < node.args.size(); i++)
        include(*node.args[i], static_cast<int>(std::min(i, waiting)));

    switch (node.kind) {
    case NodeKind::Assign:
    case NodeKind::PreInc:
    case NodeKind::PostInc:
        out.has_effects = true;
        // copying a string calls strlen()
        out.uses_tuple |= travels_by_ref(node.type);
        out.registers = std::max(out.registers, 4);
        break;
    case NodeKind::Call:
        out.uses_tuple = true;
        if (node.ident != nullptr)
            out.has_effects |= subroutine_has_effects(node.ident->id);
        break;
    case NodeKind::Index:
        out.uses_tuple |= is_assoc(node);
        out.registers = std::max(out.registers, 2);
        break;
    default:
        break;
    }
    if (node.bitfield || node.kind == NodeKind::Cast || node.kind == NodeKind::Member ||
        node.kind == NodeKind::Arrow)
        out.registers = std::max(out.registers, 2);
    return out;
}

bool TreeFacts::right_first(const Node& left, const Node& right)
{
    const Facts l = of(left), r = of(right);
    if (r.registers <= l.registers)
        return false;
    bool has_effects = l.has_effects || r.has_effects;
    return !has_effects || r.registers + 1 >= n_registers_;
}

} // namespace dt
