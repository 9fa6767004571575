// SPDX-License-Identifier: MIT
// Units to programs: per clause the predicate's DIF object and the list of actions, per
// aggregation what the consumer needs to print it. See generate.hpp for the rest.
#include "libdtrace/compile/generate.hpp"

#include <algorithm>

namespace dt {

namespace {

// Lines of the program, found once, for the clauses' source_line.
class SourceLines {
public:
    explicit SourceLines(std::string_view text)
    {
        for (std::size_t at = 0; at <= text.size();) {
            std::size_t end = std::min(text.find('\n', at), text.size());
            lines_.push_back(text.substr(at, end - at));
            at = end + 1;
        }
    }

    std::string line(int number) const
    {
        if (number < 1 || static_cast<std::size_t>(number) > lines_.size())
            return {};
        return std::string(lines_[number - 1]);
    }

private:
    std::vector<std::string_view> lines_;
};

CompiledClause generate_clause(const Clause& clause, const CompileContext& context,
                               const SourceLines& source,
                               UsedAggregations& aggregations)
{
    CompiledClause out;
    out.probes = clause.probes;
    out.at = clause.at;
    out.source_line = source.line(clause.at.line);
    out.default_action = clause.default_action;
    out.destructive = clause.destructive;
    if (clause.predicate) {
        const Node& predicate = *clause.predicate;
        out.predicate =
            ExprGenerator::generate(context.options, predicate,
                                    dif_type_of(predicate.type, predicate.userland));
    }
    ActionGenerator actions(context, out, aggregations);
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
    for (const auto& clause : unit.clauses)
        program.clauses.push_back(
            generate_clause(*clause, context, source, aggregations));
    for (const Ident* aggregation : aggregations.all())
        program.aggregations.push_back(aggregation_info(*aggregation));
    program.options = unit.options;
    program.source_name = context.options.source_name;
    return program;
}

} // namespace dt
