// SPDX-License-Identifier: MIT
// Tests the translation of statements into entries of the action list.
#include "tests/unit/compile/generate/trees.hpp"

#include <gtest/gtest.h>

namespace dt::gen {
namespace {

class GenerateActions : public testing::Test {
protected:
    std::vector<Action> compile(NodePtr statement)
    {
        Unit unit;
        auto clause = std::make_unique<Clause>();
        clause->at = {1, 1};
        Stmt line;
        line.expr = std::move(statement);
        clause->statements.push_back(std::move(line));
        unit.clauses.push_back(std::move(clause));
        SymbolTable symbols;
        TargetTypes target_types(t.types);
        ForeignTypes foreign_types(t.types);
        CompileContext context{t.options,     t.types,
                               symbols,       TargetNames(t.options, target_types),
                               foreign_types, "BEGIN { }"};
        program = generate(unit, context);
        return program.clauses[0].actions;
    }

    Ident& action(const char* name, std::uint32_t kind, int libact = 0)
    {
        Ident& out = t.variable(name, kind, t.types.void_type(), Scope::Global,
                                IdentKind::Action);
        out.libact = libact;
        return out;
    }

    Ident& aggregation(const char* name, std::uint32_t id, std::uint32_t function)
    {
        Ident& out = t.variable(name, id, t.types.dynamic_type(), Scope::Global,
                                IdentKind::Aggregation);
        out.agg_func = function;
        return out;
    }

    NodePtr aggregate(Ident& ident, std::vector<NodePtr> keys)
    {
        NodePtr out = t.node(NodeKind::Aggregate, t.types.dynamic_type());
        out->ident = &ident;
        out->args = std::move(keys);
        return out;
    }

    NodePtr function(const char* name, std::uint32_t kind, std::vector<NodePtr> args)
    {
        Ident& ident = t.variable(name, kind, t.types.void_type(), Scope::Global,
                                  IdentKind::AggFunc);
        return t.call(ident, std::move(args));
    }

    static std::uint64_t constant(const Action& action)
    {
        EXPECT_EQ(action.difo->text.size(), 2u);
        EXPECT_EQ(DIF_INSTR_OP(action.difo->text[0]), unsigned(DIF_OP_SETX));
        return action.difo->ints.at(DIF_INSTR_IDX(action.difo->text[0]));
    }

    Trees t;
    Program program;
};

TEST_F(GenerateActions, AStatementForItsEffectRecordsNothing)
{
    Ident& x = t.variable("x", 0x500, t.types.int64_type());
    auto entries = compile(t.assign(t.name(x), t.number(1)));

    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].kind, std::uint32_t(DTRACEACT_DIFEXPR));
    EXPECT_EQ(entries[0].difo->rtype.size, 0u);
}

TEST_F(GenerateActions, PrintfIsARunOfItsValuesWithTheFormatOnTheFirst)
{
    NodePtr call =
        t.call(action("printf", DTRACEACT_PRINTF), t.list(t.number(1), t.text("x")));
    call->format = std::make_shared<Format>();
    call->format->text = "%d %s";
    auto entries = compile(std::move(call));

    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].ntuple, 2u);
    EXPECT_EQ(entries[0].format, "%d %s");
    EXPECT_EQ(entries[0].difo->rtype.size, 4u);
    EXPECT_EQ(entries[1].ntuple, 0u);
    EXPECT_FALSE(entries[1].has_format);
    EXPECT_EQ(entries[1].difo->rtype.flags, DIF_TF_BYREF);
    EXPECT_EQ(entries[1].difo->rtype.size, 256u);
}

TEST_F(GenerateActions, PrintfWithoutValuesIsOneEntryThatRecordsNothing)
{
    NodePtr call = t.call(action("printf", DTRACEACT_PRINTF), {});
    call->format = std::make_shared<Format>();
    auto entries = compile(std::move(call));

    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].ntuple, 1u);
    EXPECT_EQ(entries[0].difo, nullptr);
    EXPECT_TRUE(entries[0].has_format);
}

TEST_F(GenerateActions, AggregatingComesAfterItsKeysAndItsIncrement)
{
    Ident& agg = aggregation("a", 7, DTRACEAGG_lquantize);
    agg.agg_arg = DTRACE_LQUANTIZE_ARG(1, 10, 0);
    NodePtr ustack = t.call(action("ustack", DTRACEACT_USTACK), {});
    ustack->value = DTRACE_USTACK_ARG(5, 0);
    NodePtr value =
        function("lquantize", DTRACEAGG_lquantize, t.list(t.number(3), t.number(2)));
    value->value = agg.agg_arg;
    auto entries = compile(t.assign(
        aggregate(agg, t.list(t.text("k"), std::move(ustack))), std::move(value)));

    ASSERT_EQ(entries.size(), 4u);
    EXPECT_EQ(entries[0].kind, std::uint32_t(DTRACEACT_DIFEXPR));
    EXPECT_EQ(entries[0].ntuple, 0u);
    EXPECT_EQ(entries[1].kind, std::uint32_t(DTRACEACT_USTACK));
    EXPECT_EQ(entries[1].arg, 5u);
    EXPECT_EQ(entries[1].difo, nullptr);
    EXPECT_EQ(entries[1].ntuple, 0u);
    EXPECT_EQ(entries[2].kind, std::uint32_t(DTRACEAGG_lquantize));
    EXPECT_EQ(entries[2].ntuple, DT_NTUPLE_INCREMENT);
    EXPECT_EQ(constant(entries[2]), 2u);
    EXPECT_EQ(entries[3].kind, std::uint32_t(DTRACEAGG_lquantize));
    EXPECT_EQ(entries[3].ntuple, 2u);
    EXPECT_EQ(entries[3].arg, agg.agg_arg);
    EXPECT_EQ(entries[3].uarg, 7u);
    EXPECT_EQ(constant(entries[3]), 3u);
    ASSERT_EQ(program.aggregations.size(), 1u);
    EXPECT_EQ(program.aggregations[0].function, std::uint32_t(DTRACEAGG_lquantize));
}

TEST_F(GenerateActions, CountHasNoValue)
{
    Ident& agg = aggregation("a", 7, DTRACEAGG_count);
    auto entries =
        compile(t.assign(aggregate(agg, {}), function("count", DTRACEAGG_count, {})));

    ASSERT_EQ(entries.size(), 1u);
    EXPECT_EQ(entries[0].difo, nullptr);
    EXPECT_EQ(entries[0].uarg, 7u);
}

TEST_F(GenerateActions, NormalizeRecordsTheAggregationAndTheDivisor)
{
    Ident& agg = aggregation("a", 7, DTRACEAGG_count);
    auto entries =
        compile(t.call(action("normalize", DTRACEACT_LIBACT, DT_LIBACT_NORMALIZE),
                       t.list(aggregate(agg, {}), t.number(1000))));

    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].ntuple, 2u);
    EXPECT_EQ(entries[0].arg, std::uint64_t(DT_LIBACT_NORMALIZE));
    EXPECT_EQ(constant(entries[0]), 7u);
    EXPECT_EQ(constant(entries[1]), 1000u);
    EXPECT_EQ(entries[1].difo->rtype.size, 8u);
}

TEST_F(GenerateActions, TracememRecordsTheBytesAndTheDynamicSize)
{
    Ident& p = t.variable("p", 0x500, t.types.pointer_to(t.types.void_type()));
    NodePtr call =
        t.call(action("tracemem", DTRACEACT_TRACEMEM), t.list(t.name(p), t.number(5)));
    call->value = 48;
    auto entries = compile(std::move(call));

    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].ntuple, 2u);
    EXPECT_EQ(entries[0].difo->rtype.size, 48u);
    EXPECT_EQ(entries[0].difo->rtype.flags, DIF_TF_BYREF);
    EXPECT_EQ(entries[1].kind, std::uint32_t(DTRACEACT_TRACEMEM_DYNSIZE));
}

} // namespace
} // namespace dt::gen
