// SPDX-License-Identifier: MIT
// Translates a unit to a program. Each clause becomes a DIF object for its predicate
// and a list of actions. generate.hpp describes the other files.
#include "libdtrace/compile/generate/generate.hpp"

#include <algorithm>

namespace dt {

SourceLines::SourceLines(std::string_view text)
{
    for (std::size_t at = 0; at <= text.size();) {
        std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        if (line.ends_with('\r'))
            line.remove_suffix(1);
        lines_.push_back(line);
        at = end + 1;
    }
}

Source SourceLines::source(Place at) const
{
    auto number = static_cast<std::size_t>(std::max(at.line_of_text(), 0));
    if (number == 0 || number > lines_.size())
        return {at, {}};
    return {at, std::string(lines_[number - 1].substr(0, max_source_line))};
}

namespace {

CompiledClause generate_clause(const Clause& clause, const CompileContext& context,
                               const SourceLines& source,
                               UsedAggregations& aggregations)
{
    CompiledClause out;
    out.probes = clause.probes;
    out.source = source.source(clause.at);
    out.default_action = clause.default_action;
    out.prepares = clause.prepares;
    out.destructive = clause.destructive;
    out.changes_target = clause.changes_target;
    out.needs_kernel = clause.needs_kernel;
    out.descriptions = clause.descriptions;
    out.names = clause.names;
    if (clause.predicate) {
        const Node& predicate = *clause.predicate;
        out.predicate_source = source.source(predicate.at);
        out.predicate =
            ExprGenerator::generate(context.options, predicate,
                                    dif_type_of(predicate.type, predicate.userland));
    }
    ActionGenerator actions(context, source, out, aggregations);
    for (const Stmt& statement : clause.statements)
        if (statement.expr)
            actions.statement(*statement.expr);
    return out;
}

AggregationInfo aggregation_info(const Ident& ident)
{
    AggregationInfo out;
    out.name = ident.name;
    out.id = ident.id;
    out.function = ident.agg_func;
    out.arg = ident.agg_arg;
    out.keys = ident.keys;
    return out;
}

} // namespace

Program generate(Unit& unit, CompileContext& context)
{
    Program program;
    SourceLines source(context.text);
    UsedAggregations aggregations;
    program.clauses.reserve(unit.clauses.size());
    for (const auto& clause : unit.clauses) {
        program.clauses.push_back(
            generate_clause(*clause, context, source, aggregations));
        program.needs_kernel = program.needs_kernel || clause->needs_kernel;
    }
    for (const Ident* aggregation : aggregations.all())
        program.aggregations.push_back(aggregation_info(*aggregation));
    program.options = unit.options;
    program.source_name = context.options.source_name;
    return program;
}

} // namespace dt
