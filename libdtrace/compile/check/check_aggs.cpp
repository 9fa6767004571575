// SPDX-License-Identifier: MIT
// Aggregating statements: @name[keys] = function(value, parameters, increment).
//
// The first use of an aggregation determines its function, its keys and its parameters.
// The parameters of lquantize() and llquantize() are packed into one word, which is
// stored in the aggregation and in the call.
#include "libdtrace/compile/check/check_internal.hpp"

#include "dif/types.h"

#include "dif/actions.h"
#include "dif/distribution.h"

#include <cstring>
#include <limits>

namespace dt {

namespace {

const char* agg_function_name(std::uint32_t kind)
{
    switch (kind) {
#define X(name, number, prototype)                                                     \
    case number:                                                                       \
        return #name;
        DIF_AGGS(X)
#undef X
    default:
        return "?";
    }
}

// Returns a parameter of lquantize() or llquantize(). Refuses the parameter if it is
// not an integer constant from `least` to `most`.
std::int64_t parameter(const Node& call, std::size_t i, const char* what, Tag type_tag,
                       Tag value_tag, std::int64_t least, std::int64_t most)
{
    const Node& node = *call.args[i];
    const std::string name =
        call_name(call) + " argument #" + std::to_string(i + 1) + " (" + what + ")";
    if (!node.is_constant || !node.type->is_integer())
        fail(type_tag, node.at, name + " must be an integer constant");
    auto value = static_cast<std::int64_t>(node.value);
    if (value < least || value > most)
        fail(value_tag, node.at,
             name + " is out of range: " + std::to_string(value) + " is not between " +
                 std::to_string(least) + " and " + std::to_string(most));
    return value;
}

bool is_not_positive(const Node& node)
{
    return node.is_constant && static_cast<std::int64_t>(node.value) <= 0;
}

void must_match(const Node& call, const Ident& aggregation, std::int64_t value,
                std::int64_t earlier, const char* what, Tag tag)
{
    if (value != earlier)
        fail(tag, call.at,
             call_name(call) + " " + what + " " + std::to_string(value) +
                 " differs from " + std::to_string(earlier) + ", which @" +
                 aggregation.name + " has on line " +
                 std::to_string(aggregation.at.line));
}

constexpr std::int64_t u16_max = std::numeric_limits<std::uint16_t>::max();

} // namespace

void Checker::aggregate_keys(Node& node, Ident& ident, bool fix)
{
    for (NodePtr& key : node.args) {
        const ActionRow* row =
            key->kind == NodeKind::Call ? find_action_row(key->text) : nullptr;
        bool symbolic = row && std::strncmp(row->prototype, "void", 4) != 0;
        if (symbolic)
            action(key);
        else
            expr(key);
        require_value(*key);
    }
    check_keys(ident, node.args, node.at, fix, "@" + ident.name + "[ ]", "key");
}

void Checker::aggregate_statement(Node& node)
{
    Node& left = *node.left;
    Node& right = *node.right;
    bool function = node.op == Op::None && right.kind == NodeKind::Call &&
                    find_agg_row(right.text) != nullptr;
    if (!function && right.kind == NodeKind::Call && node.op == Op::None &&
        !find_action_row(right.text) && !find_subroutine_row(right.text))
        resolve_function(right); // reports a misspelt name with a better message
    if (!function)
        fail(Tag::AGG_FUNC, node.at,
             "@" + left.text +
                 " must be assigned, with =, the result of an aggregating "
                 "function");
    resolve_function(right);

    auto& ident = symbols_.aggregations[left.text];
    bool first = !ident;
    if (first) {
        ident = std::make_unique<Ident>();
        ident->kind = IdentKind::Aggregation;
        ident->name = left.text;
        ident->id = symbols_.next_aggregation++;
        ident->type = types_.dynamic_type();
        ident->at = node.at;
    }
    bool undefined = ident->agg_func == 0;
    if (undefined)
        ident->agg_func = right.ident->id;
    else if (ident->agg_func != right.ident->id)
        fail(Tag::AGG_REDEF, node.at,
             "aggregation @" + left.text + " redefined: " + call_name(right) +
                 " here, " + agg_function_name(ident->agg_func) + "( ) on line " +
                 std::to_string(ident->at.line));
    uses(*ident, left.at);
    aggregate_keys(left, *ident, true);
    left.ident = ident.get();
    left.type = types_.dynamic_type();
    agg_function(right, *ident);
    ident->modified = true;
    node.type = types_.void_type();
}

void Checker::agg_function(Node& call, Ident& aggregation)
{
    std::size_t n_value = call.ident->id == DTRACEAGG_count ? 0 : 1;
    std::size_t n_parameters = 0;
    bool increment = false;
    std::size_t least = n_value;
    switch (call.ident->id) {
    case DTRACEAGG_quantize:
        increment = true;
        break;
    case DTRACEAGG_lquantize:
        increment = true;
        n_parameters = call.args.size() > 3 ? 3 : 2;
        least = 3;
        break;
    case DTRACEAGG_llquantize:
        increment = true;
        n_parameters = 4;
        least = 5;
        break;
    default:
        break;
    }
    std::size_t most =
        call.ident->id == DTRACEAGG_lquantize ? 5 : least + (increment ? 1 : 0);
    check_count(call, call_name(call), least, most);
    for (NodePtr& argument : call.args) {
        expr(argument);
        require_value(*argument);
    }
    std::size_t n_integers = n_parameters < 2 ? 0 : least - n_value;
    for (std::size_t i = n_value; i < n_value + n_integers; i++)
        if (!call.args[i]->type->is_arithmetic())
            bad_argument(call, i, "int32_t");
    if (n_value == 1 && !call.args[0]->type->is_scalar())
        fail(Tag::AGG_SCALAR, call.args[0]->at,
             call_name(call) + " argument #1 must be of scalar type, not \"" +
                 node_type_text(*call.args[0]) + "\"");
    if (n_value == 1)
        call.value =
            float_aggregation(call, aggregation, n_parameters != 0 || increment);
    std::size_t n_fixed = n_value + n_parameters;
    if (increment && call.args.size() > n_fixed &&
        !call.args[n_fixed]->type->is_integer())
        bad_argument(call, n_fixed, "int64_t");

    if (call.ident->id == DTRACEAGG_lquantize)
        call.value = lquantize(call, aggregation);
    else if (call.ident->id == DTRACEAGG_llquantize)
        call.value = llquantize(call, aggregation);
    aggregation.agg_arg = call.value;
    aggregation.modified = true;
    call.args.erase(call.args.begin() + static_cast<std::ptrdiff_t>(n_value),
                    call.args.begin() + static_cast<std::ptrdiff_t>(n_fixed));
    call.type = types_.void_type();
}

// Converts the value to the type that the aggregation contains. A distribution contains
// integers. Any other aggregation contains doubles if the value of its first use is a
// double, otherwise integers. Returns DT_AGG_FLOAT if the aggregation contains doubles,
// otherwise 0. Fails if the value is a double, but the first value was an integer and
// the aggregation is not a distribution.
std::uint64_t Checker::float_aggregation(Node& call, const Ident& aggregation,
                                         bool is_distribution)
{
    NodePtr& value = call.args[0];
    bool is_float = value->type->is_float();
    if (is_distribution) {
        if (is_float)
            cast_to(value, types_.int64_type());
        return 0;
    }
    bool has_floats = aggregation.agg_arg == DT_AGG_FLOAT;
    if (is_float && aggregation.modified && !has_floats)
        fail(Tag::AGG_REDEF, value->at,
             "aggregation @" + aggregation.name + " redefined: " + call_name(call) +
                 " of \"" + node_type_text(*value) +
                 "\" here, but of integers on line " +
                 std::to_string(aggregation.at.line));
    if (!is_float && !(aggregation.modified && has_floats))
        return 0;
    if (!value->type->is_arithmetic())
        fail(Tag::AGG_SCALAR, value->at,
             call_name(call) + " argument #1 must be a number, not \"" +
                 node_type_text(*value) + "\"");
    to_double(value, call_name(call));
    return DT_AGG_FLOAT;
}

std::uint64_t Checker::lquantize(Node& call, const Ident& aggregation)
{
    constexpr std::int64_t least = std::numeric_limits<std::int32_t>::min();
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    std::int64_t base = parameter(call, 1, "base", Tag::LQUANT_BASETYPE,
                                  Tag::LQUANT_BASEVAL, least, most);
    std::int64_t limit = parameter(call, 2, "limit", Tag::LQUANT_LIMTYPE,
                                   Tag::LQUANT_LIMVAL, least, most);
    if (limit <= base)
        fail(Tag::LQUANT_MISMATCH, call.at,
             call_name(call) +
                 " base (argument #2) must be less than limit (argument #3)");
    std::int64_t step = 1;
    if (call.args.size() > 3 && is_not_positive(*call.args[3]))
        fail(Tag::LQUANT_STEPTYPE, call.args[3]->at,
             call_name(call) +
                 " argument #4 (step) must be a positive integer constant");
    if (call.args.size() > 3)
        step = parameter(call, 3, "step", Tag::LQUANT_STEPTYPE, Tag::LQUANT_STEPVAL, 1,
                         u16_max);
    std::int64_t levels = (limit - base) / step;
    if (levels > u16_max)
        fail(Tag::LQUANT_STEPSMALL, call.at,
             call_name(call) + " step " + std::to_string(step) +
                 " is too small: " + std::to_string(levels) + " levels, at most " +
                 std::to_string(u16_max));
    if (levels == 0)
        fail(Tag::LQUANT_STEPLARGE, call.at,
             call_name(call) + " step " + std::to_string(step) +
                 " is too large: no level fits between base and limit");

    std::uint64_t packed = DTRACE_LQUANTIZE_ARG(step, levels, base);
    if (std::uint64_t old = aggregation.agg_arg) {
        std::int64_t old_base = DTRACE_LQUANTIZE_BASE(old);
        std::int64_t old_step = DTRACE_LQUANTIZE_STEP(old);
        must_match(call, aggregation, base, old_base, "base", Tag::LQUANT_MATCHBASE);
        must_match(call, aggregation, step, old_step, "step", Tag::LQUANT_MATCHSTEP);
        // Two limits are equal if they give the same number of levels.
        must_match(call, aggregation, base + levels * step,
                   old_base + DTRACE_LQUANTIZE_LEVELS(old) * old_step, "limit",
                   Tag::LQUANT_MATCHLIM);
    }
    return packed;
}

std::uint64_t Checker::llquantize(Node& call, const Ident& aggregation)
{
    std::int64_t factor = parameter(call, 1, "factor", Tag::LLQUANT_FACTORTYPE,
                                    Tag::LLQUANT_FACTORVAL, 0, u16_max);
    std::int64_t low = parameter(call, 2, "low magnitude", Tag::LLQUANT_LOWTYPE,
                                 Tag::LLQUANT_LOWVAL, 0, u16_max);
    std::int64_t high = parameter(call, 3, "high magnitude", Tag::LLQUANT_HIGHTYPE,
                                  Tag::LLQUANT_HIGHVAL, 0, u16_max);
    std::int64_t nsteps = parameter(call, 4, "steps", Tag::LLQUANT_NSTEPTYPE,
                                    Tag::LLQUANT_NSTEPVAL, 0, u16_max);
    const std::string name = call_name(call);
    if (factor < 2)
        fail(Tag::LLQUANT_FACTORSMALL, call.args[1]->at,
             name + " factor (argument #2) must be two or more");
    if (low >= high)
        fail(Tag::LLQUANT_MAGRANGE, call.args[3]->at,
             name + " high magnitude (argument #4) must be above the low one (#3)");
    if (nsteps < factor)
        fail(Tag::LLQUANT_FACTORNSTEPS, call.args[4]->at,
             name + " steps (argument #5) must be at least the factor (#2)");
    std::uint64_t power = 1;
    for (std::int64_t i = 0; i < high + 1; i++)
        if (__builtin_mul_overflow(power, static_cast<std::uint64_t>(factor), &power))
            fail(Tag::LLQUANT_MAGTOOBIG, call.args[3]->at,
                 name + " factor to the power of high magnitude + 1 exceeds 64 bits");
    // The check below ensures that the limits of buckets are integers.
    std::uint64_t covering = static_cast<std::uint64_t>(factor);
    while (covering < static_cast<std::uint64_t>(nsteps))
        covering *= static_cast<std::uint64_t>(factor);
    if (nsteps % factor != 0 || covering % static_cast<std::uint64_t>(nsteps) != 0)
        fail(Tag::LLQUANT_FACTOREVEN, call.args[4]->at,
             name + " steps (argument #5) must be a multiple of the factor (#2) and "
                    "divide a power of the factor");

    std::uint64_t packed = DTRACE_LLQUANTIZE_ARG(factor, low, high, nsteps);
    if (std::uint64_t old = aggregation.agg_arg) {
        must_match(call, aggregation, factor, DTRACE_LLQUANTIZE_FACTOR(old), "factor",
                   Tag::LLQUANT_FACTORMATCH);
        must_match(call, aggregation, low, DTRACE_LLQUANTIZE_LOW(old), "low magnitude",
                   Tag::LLQUANT_LOWMATCH);
        must_match(call, aggregation, high, DTRACE_LLQUANTIZE_HIGH(old),
                   "high magnitude", Tag::LLQUANT_HIGHMATCH);
        must_match(call, aggregation, nsteps, DTRACE_LLQUANTIZE_NSTEP(old), "steps",
                   Tag::LLQUANT_NSTEPMATCH);
    }
    return packed;
}

} // namespace dt
