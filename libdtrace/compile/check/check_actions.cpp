// SPDX-License-Identifier: MIT
// Checks actions, including the rules that an action's prototype cannot express.
//
// An action is called as a statement. If its value is a stack or a symbol, it can also
// be a key of an aggregation. Constants that are not recorded (numbers of frames or
// bytes, formats) are removed from the argument list. check.hpp says where they are
// stored.
#include "libdtrace/compile/check/check_internal.hpp"

#include "dif/types.h"

#include "dif/actions.h"

#include <cstring>

namespace dt {

namespace {

constexpr std::uint64_t u32_max = 0xffffffffu;

// Returns the row of the action if the node calls an action that has a value, such as
// ustack() or usym(x). Otherwise returns null.
const ActionRow* valued_action(const Node& node)
{
    const ActionRow* row =
        node.kind == NodeKind::Call ? find_action_row(node.text) : nullptr;
    return row && std::strncmp(row->prototype, "void", 4) != 0 ? row : nullptr;
}

struct LibraryTags {
    Tag prototype, not_one, undefined;
};

LibraryTags library_tags(int libact)
{
    switch (libact) {
    case DT_LIBACT_CLEAR:
        return {Tag::CLEAR_PROTO, Tag::CLEAR_AGGARG, Tag::CLEAR_AGGBAD};
    case DT_LIBACT_TRUNC:
        return {Tag::TRUNC_PROTO, Tag::TRUNC_AGGARG, Tag::TRUNC_AGGBAD};
    default:
        return {Tag::NORMALIZE_PROTO, Tag::NORMALIZE_AGGARG, Tag::NORMALIZE_AGGBAD};
    }
}

std::vector<std::string_view> aggregation_names(const SymbolTable& symbols)
{
    std::vector<std::string_view> names;
    for (const auto& entry : symbols.aggregations)
        names.emplace_back(entry.first);
    return names;
}

} // namespace

void Checker::action(NodePtr& slot)
{
    Node& node = *slot;
    resolve_function(node);
    switch (node.ident->id) {
    case DTRACEACT_DIFEXPR:
        return action_trace(slot);
    case DTRACEACT_TRACEMEM:
        action_tracemem(node);
        break;
    case DTRACEACT_PRINTF:
    case DTRACEACT_SYSTEM:
        action_printf(node);
        break;
    case DTRACEACT_FREOPEN:
        action_freopen(node);
        break;
    case DTRACEACT_PRINTA:
        action_printa(node);
        break;
    case DTRACEACT_STACK:
    case DTRACEACT_USTACK:
    case DTRACEACT_JSTACK:
        action_stack(node);
        break;
    case DTRACEACT_LIBACT:
        if (node.ident->libact == DT_LIBACT_SETOPT ||
            node.ident->libact == DT_LIBACT_FTRUNCATE)
            action_plain(node);
        else
            action_on_aggregation(node);
        break;
    default:
        action_plain(node);
        break;
    }
    node.type = prototype_of(*node.ident).result;
}

// Checks an action whose prototype expresses all of its rules.
void Checker::action_plain(Node& node)
{
    check_arguments(node);
}

void Checker::action_trace(NodePtr& slot)
{
    Node& node = *slot;
    const std::string name = call_name(node);
    bool is_print = node.text == "print";
    check_count(node, name, 1, 1);
    if (node.args[0]->kind == NodeKind::Aggregate)
        fail(is_print ? Tag::PRINT_AGG : Tag::TRACE_AGG, node.at,
             name + " may not be applied to an aggregation: use printa( )");
    if (valued_action(*node.args[0])) {
        NodePtr inner = std::move(node.args[0]);
        slot = std::move(inner);
        return action(slot);
    }
    expr(node.args[0]);
    if (is_void(node.args[0]->type))
        fail(is_print ? Tag::PRINT_VOID : Tag::TRACE_VOID, node.at,
             name + " may not be applied to a void expression");
    if (is_dynamic(node.args[0]->type))
        fail(is_print ? Tag::PRINT_DYN : Tag::TRACE_DYN, node.at,
             name + " may not be applied to a dynamic expression");
    node.type = types_.void_type();
}

void Checker::action_tracemem(Node& node)
{
    constexpr std::size_t with_dynamic_size = 3;
    if (node.args.size() > with_dynamic_size)
        fail(Tag::TRACEMEM_ARGS, node.at,
             "tracemem( ) prototype mismatch: " + std::to_string(node.args.size()) +
                 " args passed, at most 3 expected");
    check_count(node, call_name(node), 2, with_dynamic_size);
    for (NodePtr& argument : node.args) {
        expr(argument);
        require_value(*argument);
    }
    const Node& address = *node.args[0];
    bool is_address = address.type->is_integer() || address.type->is_pointer() ||
                      is_array(address.type) || address.type->is_string();
    if (!is_address)
        fail(Tag::TRACEMEM_ADDR, address.at,
             "tracemem( ) argument #1 must be a pointer or integer, not \"" +
                 node_type_text(address) + "\"");
    const Node& size = *node.args[1];
    if (!size.is_constant || !size.type->is_integer() || size.value == 0 ||
        size.value > u32_max)
        fail(Tag::TRACEMEM_SIZE, size.at,
             "tracemem( ) argument #2 must be a non-zero positive integer constant");
    if (node.args.size() == with_dynamic_size && !node.args[2]->type->is_integer())
        fail(Tag::TRACEMEM_DYNSIZE, node.args[2]->at,
             "tracemem( ) argument #3 must be an integer, not \"" +
                 node_type_text(*node.args[2]) + "\"");
    node.value = size.value;
    node.args.erase(node.args.begin() + 1);
}

void Checker::action_printf(Node& node)
{
    check_count(node, call_name(node), 1, any_number);
    check_printf(node);
}

void Checker::action_freopen(Node& node)
{
    check_count(node, call_name(node), 1, any_number);
    const Node& name = *node.args[0];
    if (name.kind == NodeKind::String && name.text == ".")
        fail(Tag::FREOPEN_INVALID, node.at, "freopen( ) cannot be applied to \".\"");
    if (name.kind == NodeKind::String && name.text.empty() && node.args.size() == 1) {
        // An empty file name restores the original output. It is represented by an
        // empty format.
        node.format = std::make_shared<Format>();
        node.args.clear();
        return;
    }
    check_printf(node);
}

Ident* Checker::named_aggregation(Node& call, Node& argument, Tag not_one,
                                  Tag undefined)
{
    if (argument.kind != NodeKind::Aggregate)
        fail(not_one, argument.at,
             call_name(call) + " argument must be an aggregation, such as @name");
    auto found = symbols_.aggregations.find(argument.text);
    if (found == symbols_.aggregations.end() || found->second->agg_func == 0)
        fail(undefined, argument.at,
             call_name(call) + ": undefined aggregation @" + argument.text +
                 suggestion(argument.text, aggregation_names(symbols_)));
    if (!argument.args.empty())
        aggregate_keys(argument, *found->second, false);
    argument.ident = found->second.get();
    argument.type = types_.dynamic_type();
    argument.ident->referenced = true;
    uses(*argument.ident, argument.at);
    return argument.ident;
}

void Checker::action_printa(Node& node)
{
    if (node.args.empty())
        fail(Tag::PROTO_LEN, node.at,
             "printa( ) prototype mismatch: 0 args passed, at least 1 expected");
    check_printa(node);
}

void Checker::action_on_aggregation(Node& node)
{
    const LibraryTags tags = library_tags(node.ident->libact);
    bool takes_number = node.ident->libact == DT_LIBACT_NORMALIZE;
    bool may_take_number = takes_number || node.ident->libact == DT_LIBACT_TRUNC;
    std::size_t least = takes_number ? 2 : 1;
    std::size_t most = may_take_number ? 2 : 1;
    std::size_t n = node.args.size();
    if (n < least || n > most) {
        const char* bound = least == most ? "" : n < least ? "at least " : "at most ";
        fail(tags.prototype, node.at,
             call_name(node) + " prototype mismatch: " + std::to_string(n) +
                 (n == 1 ? " arg" : " args") + " passed, " + bound +
                 std::to_string(n < least ? least : most) + " expected");
    }
    named_aggregation(node, *node.args[0], tags.not_one, tags.undefined);
    if (n < 2)
        return;
    expr(node.args[1]);
    require_value(*node.args[1]);
    if (!node.args[1]->type->is_integer())
        fail(takes_number ? Tag::NORMALIZE_SCALAR : Tag::TRUNC_SCALAR, node.args[1]->at,
             call_name(node) + " argument #2 must be of integral type, not \"" +
                 node_type_text(*node.args[1]) + "\"");
}

void Checker::action_stack(Node& node)
{
    bool user = node.ident->id != DTRACEACT_STACK;
    bool java = node.ident->id == DTRACEACT_JSTACK;
    std::size_t most = user ? 2 : 1;
    if (node.args.size() > most)
        fail(user ? Tag::USTACK_PROTO : Tag::STACK_PROTO, node.at,
             call_name(node) +
                 " prototype mismatch: " + std::to_string(node.args.size()) +
                 " args passed, at most " + std::to_string(most) + " expected");
    std::uint64_t frames = !user  ? options_.stackframes
                           : java ? options_.jstackframes
                                  : options_.ustackframes;
    std::uint64_t bytes = java ? options_.jstackstrsize : 0;
    for (std::size_t i = 0; i < node.args.size(); i++) {
        expr(node.args[i]);
        const Node& argument = *node.args[i];
        bool is_frames = i == 0;
        bool valid = argument.is_constant && argument.type->is_integer() &&
                     argument.value <= u32_max && (argument.value != 0 || !is_frames);
        if (!valid)
            fail(!user       ? Tag::STACK_SIZE
                 : is_frames ? Tag::USTACK_FRAMES
                             : Tag::USTACK_STRSIZE,
                 argument.at,
                 call_name(node) + " argument #" + std::to_string(i + 1) +
                     (is_frames ? " must be a positive integer constant"
                                : " must be a non-negative integer constant"));
        (is_frames ? frames : bytes) = argument.value;
    }
    node.args.clear();
    frames = std::min<std::uint64_t>(frames, options_.maxframes);
    node.value = user ? DTRACE_USTACK_ARG(frames, bytes) : frames;
}

} // namespace dt
