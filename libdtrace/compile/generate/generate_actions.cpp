// SPDX-License-Identifier: MIT
// Translates statements to entries of a clause's action list (program.hpp, struct
// Action).
//
//   x = 1;                       DIFEXPR that writes no record
//   trace(e)                     DIFEXPR
//   printf("f", a, b)            PRINTF a (ntuple 2, format), PRINTF b
//   printa("f", @a, @b)          PRINTA id of @a (ntuple 2, format), PRINTA id of @b
//   normalize(@a, n)             LIBACT id of @a (ntuple 2, arg NORMALIZE), LIBACT n
//   @a[k, ustack()] = sum(e)     DIFEXPR k, USTACK, sum e (ntuple 2, uarg id of @a)
//   @a = quantize(e, n)          quantize n (ntuple increment), quantize e
//
// A single entry has ntuple 1. Parts of a key have ntuple 0, and increments have
// DT_NTUPLE_INCREMENT. uarg is the source line, except in an entry that aggregates.
#include "libdtrace/compile/generate/generate.hpp"

#include "dif/actions.h"

#include <algorithm>

namespace dt {

ActionGenerator::ActionGenerator(const CompileContext& context,
                                 const SourceLines& lines, CompiledClause& clause,
                                 UsedAggregations& aggregations)
    : context_(context), lines_(lines), clause_(clause), aggregations_(aggregations)
{
}

Action& ActionGenerator::add(std::uint32_t kind, const Node& node)
{
    Action& out = clause_.actions.emplace_back();
    out.kind = kind;
    out.uarg = static_cast<std::uint64_t>(node.at.line);
    out.source = lines_.source(node.at);
    return out;
}

Action& ActionGenerator::add_value(std::uint32_t kind, const Node& node)
{
    return add_value(kind, node, dif_type_of(node.type, node.userland));
}

static TextOrigin origin_of(const Node& node)
{
    switch (node.kind) {
    case NodeKind::String:
    case NodeKind::Integer:
        return TextOrigin::Program;
    // The value of a builtin of type string, such as execname, is always a name.
    case NodeKind::Ident:
        return node.ident->kind == IdentKind::Builtin && node.type->is_string()
                   ? TextOrigin::Name
                   : TextOrigin::Target;
    case NodeKind::Cast:
    case NodeKind::Stringof:
        return origin_of(*node.left);
    case NodeKind::Cond:
        return std::max(origin_of(*node.left), origin_of(*node.right));
    case NodeKind::Call: // strjoin(execname, "x")
        for (const NodePtr& arg : node.args)
            if (arg->type->is_string() && origin_of(*arg) == TextOrigin::Name)
                return TextOrigin::Name;
        return TextOrigin::Target;
    default:
        return TextOrigin::Target;
    }
}

Action& ActionGenerator::add_value(std::uint32_t kind, const Node& node, dif_type as)
{
    Action& out = add(kind, node);
    // The command of system() and the file name of freopen() must not be escaped.
    out.origin = kind == DTRACEACT_SYSTEM || kind == DTRACEACT_FREOPEN
                     ? TextOrigin::Program
                     : origin_of(node);
    out.difo = ExprGenerator::generate(context_.options, node, as);
    out.type = node.type;
    return out;
}

void ActionGenerator::add_aggregation(std::uint32_t kind, const Node& node)
{
    const Ident& aggregation = *node.ident;
    aggregations_.add(aggregation);
    Action& out = add(kind, node);
    out.difo = ExprGenerator::constant(context_.options, node.at, aggregation.id);
    out.type = context_.types.uint64_type();
}

Action& ActionGenerator::close_run(std::size_t first)
{
    Action& out = clause_.actions[first];
    out.ntuple = static_cast<std::uint32_t>(clause_.actions.size() - first);
    return out;
}

void ActionGenerator::statement(const Node& node)
{
    bool is_action = node.kind == NodeKind::Call && node.ident != nullptr &&
                     node.ident->kind == IdentKind::Action;
    if (is_action)
        action(node);
    else if (node.kind == NodeKind::Assign && node.left->kind == NodeKind::Aggregate)
        aggregate(node);
    else
        add_value(DTRACEACT_DIFEXPR, node, dif_type_nothing()).ntuple = 1;
}

void ActionGenerator::action(const Node& node)
{
    switch (node.ident->id) {
    case DTRACEACT_DIFEXPR: {
        Action& entry = add_value(DTRACEACT_DIFEXPR, *node.args[0]);
        entry.ntuple = 1;
        entry.is_print = node.text == "print";
        return;
    }
    case DTRACEACT_PRINTF:
    case DTRACEACT_SYSTEM:
    case DTRACEACT_FREOPEN:
        values(node);
        return;
    case DTRACEACT_PRINTA:
        printa(node);
        return;
    case DTRACEACT_TRACEMEM:
        tracemem(node);
        return;
    case DTRACEACT_LIBACT:
        library_action(node);
        return;
    case DTRACEACT_EXIT:
        add_value(DTRACEACT_EXIT, *node.args[0],
                  dif_type_of(context_.types.int_type(), false))
            .ntuple = 1;
        return;
    case DTRACEACT_RAISE:
    case DTRACEACT_CHILL:
    case DTRACEACT_SPECULATE:
    case DTRACEACT_COMMIT:
    case DTRACEACT_DISCARD:
        add_value(node.ident->id, *node.args[0], dif_type_word()).ntuple = 1;
        return;
    case DTRACEACT_STOP:
    case DTRACEACT_BREAKPOINT:
    case DTRACEACT_PANIC:
        add(node.ident->id, node).ntuple = 1;
        return;
    default:
        stack_or_symbol(node);
        clause_.actions.back().ntuple = 1;
        return;
    }
}

static void attach_format(Action& entry, const Node& node)
{
    if (!node.format)
        return;
    entry.parsed = node.format;
    entry.format = node.format->text;
    entry.has_format = true;
}

void ActionGenerator::values(const Node& node)
{
    std::size_t first = clause_.actions.size();
    for (const NodePtr& arg : node.args)
        add_value(node.ident->id, *arg);
    if (node.args.empty())
        add(node.ident->id, node);
    attach_format(close_run(first), node);
}

void ActionGenerator::printa(const Node& node)
{
    std::size_t first = clause_.actions.size();
    for (const NodePtr& arg : node.args)
        add_aggregation(DTRACEACT_PRINTA, *arg);
    attach_format(close_run(first), node);
}

void ActionGenerator::tracemem(const Node& node)
{
    std::size_t first = clause_.actions.size();
    const Node& address = *node.args[0];
    dif_type bytes = {};
    bytes.flags = DIF_TF_BYREF;
    bytes.size = static_cast<dt_u32>(node.value);
    add_value(DTRACEACT_TRACEMEM, address, bytes);
    if (node.args.size() > 1)
        add_value(DTRACEACT_TRACEMEM_DYNSIZE, *node.args[1], dif_type_word());
    close_run(first);
}

void ActionGenerator::library_action(const Node& node)
{
    std::size_t first = clause_.actions.size();
    for (const NodePtr& arg : node.args) {
        if (arg->kind == NodeKind::Aggregate)
            add_aggregation(DTRACEACT_LIBACT, *arg);
        else if (travels_by_ref(arg->type))
            add_value(DTRACEACT_LIBACT, *arg);
        else
            add_value(DTRACEACT_LIBACT, *arg, dif_type_word());
    }
    if (node.args.empty())
        add(DTRACEACT_LIBACT, node);
    close_run(first).arg = static_cast<std::uint64_t>(node.ident->libact);
}

void ActionGenerator::stack_or_symbol(const Node& node)
{
    if (node.args.empty()) {
        Action& entry = add(node.ident->id, node);
        entry.arg = node.value;
        entry.type = node.type;
        return;
    }
    add_value(node.ident->id, *node.args[0], dif_type_word()).type = node.type;
}

void ActionGenerator::key_part(const Node& node)
{
    bool is_action = node.kind == NodeKind::Call && node.ident != nullptr &&
                     node.ident->kind == IdentKind::Action;
    if (is_action)
        stack_or_symbol(node);
    else
        add_value(DTRACEACT_DIFEXPR, node);
}

void ActionGenerator::aggregate(const Node& node)
{
    const Node& key = *node.left;
    const Node& function = *node.right;
    const Ident& aggregation = *key.ident;
    aggregations_.add(aggregation);

    for (const NodePtr& part : key.args)
        key_part(*part);
    std::uint32_t kind = function.ident->id;
    if (function.args.size() > 1) {
        Action& increment = add_value(kind, *function.args[1], dif_type_word());
        increment.ntuple = DT_NTUPLE_INCREMENT;
        increment.arg = function.value;
    }
    Action& entry = function.args.empty()
                        ? add(kind, node)
                        : add_value(kind, *function.args[0], dif_type_word());
    entry.ntuple = static_cast<std::uint32_t>(key.args.size());
    entry.arg = function.value;
    entry.uarg = aggregation.id;
}

} // namespace dt
