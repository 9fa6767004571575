// SPDX-License-Identifier: MIT
// Tests short forms (struct dt_short). When a simple DIFO is loaded, the engine makes a
// short form of it. A firing evaluates the short form instead of interpreting the
// instructions of the DIFO. The results must be the same.
#include <gtest/gtest.h>

#include "tests/unit/dif/session.hpp"

using namespace dif_test;

namespace {

Difo compare(dif_op branch, unsigned var, std::uint64_t with)
{
    return Difo()
        .ldgs(var, 1)
        .setx(with, 2)
        .op(DIF_OP_CMP, 1, 2)
        .branch(branch, 6)
        .op(DIF_OP_MOV, 0, 0, 1)
        .branch(DIF_OP_BA, 7)
        .setx(1, 1)
        .ret(1);
}

Difo self(Difo d)
{
    return d.variable("t", 0x500, DIFV_SCOPE_THREAD);
}

Difo self_get()
{
    return self(Difo()).indexed(DIF_OP_LDTS, 0x500, 1).ret(1);
}

std::string outcome(Session& s, const std::vector<std::vector<std::uint64_t>>& firings)
{
    std::string out;
    for (const auto& args : firings)
        s.fire("n", args);
    for (const Record& r : s.records()) {
        out += std::to_string(r.epid) + (r.flags & DT_REC_ERROR ? " error" : "");
        for (unsigned char c : r.payload)
            out += " " + std::to_string(c);
        out += "\n";
    }
    return out;
}

// Runs the clauses with their short forms, and again with the interpreter. Checks that
// both runs have the same outcome, and that the clauses have n_short short forms in
// total.
void expect_same(const std::vector<Difo>& values, const std::vector<Difo>& predicates,
                 const std::vector<std::vector<std::uint64_t>>& firings,
                 unsigned n_short)
{
    std::string outcomes[2];
    for (bool interpreted : {false, true}) {
        Session s;
        DofBuilder dof;
        for (const Difo& value : values)
            dof.clause("p:m:f:n").trace(value);
        for (const Difo& predicate : predicates)
            dof.clause("p:m:f:n").when(predicate).trace(constant(1));
        ASSERT_EQ(s.load(dof), "");
        unsigned found = 0;
        for (unsigned i = 0; i < s.arena().clauses.n; i++) {
            dt_clause& c = s.clause(i);
            auto* actions = static_cast<dt_action*>(dt_at(s.memory(), c.actions));
            for (dt_short* brief : {&c.brief, &actions[0].brief}) {
                found += brief->kind != DT_SHORT_NONE;
                if (interpreted)
                    brief->kind = DT_SHORT_NONE;
            }
        }
        EXPECT_EQ(found, n_short);
        outcomes[interpreted] = outcome(s, firings);
    }
    EXPECT_EQ(outcomes[0], outcomes[1]);
    EXPECT_NE(outcomes[0], "");
}

TEST(Short, ABuiltinAndAConstantAreWhatTheInterpreterMakesOfThem)
{
    // No firing passes arg7, so the engine requests it from the host.
    expect_same({builtin(DIF_VAR_arg0), builtin(DIF_VAR_arg1, 4), builtin(DIF_VAR_arg7),
                 builtin(DIF_VAR_timestamp), builtin(DIF_VAR_tid), constant(77, 2),
                 Difo().ldgs(DIF_VAR_execname, 3).ret(3).returns_string()},
                {}, {{1, ~0ull}, {5}, {}}, 7);
}

TEST(Short, ComparisonsAreWhatTheInterpreterMakesOfThem)
{
    std::vector<Difo> predicates;
    std::vector<std::vector<std::uint64_t>> firings;
    const std::uint64_t numbers[] = {0, 1, 5, 1ull << 63, ~0ull, (1ull << 63) - 1};
    for (int op = DIF_OP_BE; op <= DIF_OP_BLEU; op++)
        for (std::uint64_t with : numbers)
            predicates.push_back(compare(static_cast<dif_op>(op), DIF_VAR_arg0, with));
    for (std::uint64_t number : numbers)
        firings.push_back({number});
    // Each clause has two short forms: one of its predicate, and one of the constant in
    // its action, trace(1).
    expect_same({}, predicates, firings, 2 * static_cast<unsigned>(predicates.size()));
}

TEST(Short, ThreadLocalsAreWhatTheInterpreterMakesOfThem)
{
    Difo set = self(Difo()).ldgs(DIF_VAR_arg0, 1).indexed(DIF_OP_STTS, 0x500, 1).ret(1);
    Difo set_nine = self(Difo()).setx(9, 2).indexed(DIF_OP_STTS, 0x500, 2).ret(2);
    Difo clear =
        self(Difo()).op(DIF_OP_MOV, 0, 0, 1).indexed(DIF_OP_STTS, 0x500, 1).ret(1);
    Difo since = self(Difo())
                     .ldgs(DIF_VAR_arg1, 1)
                     .indexed(DIF_OP_LDTS, 0x500, 2)
                     .op(DIF_OP_SUB, 1, 2, 1)
                     .ret(1);
    expect_same(
        {self_get(), set, since, self_get(), set_nine, since, clear, self_get()},
        {self_get()}, {{3, 10}, {0, 4}, {~0ull, 1}}, 10);
}

TEST(Short, TextsThatOnlyLookShortAreInterpreted)
{
    Difo other_register = Difo().ldgs(DIF_VAR_arg0, 1).ret(2);
    Difo swapped = self(Difo())
                       .ldgs(DIF_VAR_arg1, 1)
                       .indexed(DIF_OP_LDTS, 0x500, 2)
                       .op(DIF_OP_SUB, 2, 1, 1)
                       .ret(1);
    Difo other_truth = compare(DIF_OP_BE, DIF_VAR_arg0, 3);
    other_truth.ints[1] = 2;
    Difo global = Difo().variable("g", 0x501, DIFV_SCOPE_GLOBAL).ldgs(0x501, 1).ret(1);
    expect_same({other_register, swapped, other_truth, global}, {}, {{3, 4}, {4, 4}},
                0);
}

} // namespace
