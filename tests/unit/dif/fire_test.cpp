// SPDX-License-Identifier: MIT
// Tests firing: records, predicates, variables and counts.
#include <gtest/gtest.h>

#include "tests/unit/dif/session.hpp"

using namespace dif_test;

TEST(Fire, TraceRecordsTheArgumentWithItsEpidAndTime)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").trace(builtin(DIF_VAR_arg0));
    ASSERT_EQ(s.load(dof), "");

    s.fire("n", {1234});
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].epid, 1u);
    EXPECT_EQ(records[0].u64(), 1234u);
    EXPECT_EQ(records[0].timestamp, 1010u);
}

TEST(Fire, ThePredicateOfTheReferenceIsTrueForItsExecnameOnly)
{
    Session s;
    Difo csh;
    csh.strings = std::string("\0csh\0", 5);
    csh.ints = {1};
    for (std::uint32_t word : {0x29011801u, 0x26000102u, 0x27010200u, 0x12000006u,
                               0x0e000001u, 0x11000007u, 0x25000001u, 0x23000001u})
        csh.word(word);
    csh.returns_int(4);
    DofBuilder dof;
    dof.clause("p:m:f:n").when(csh).trace(builtin(DIF_VAR_arg0));
    ASSERT_EQ(s.load(dof), "");

    s.host.strings[DIF_VAR_execname] = "bash";
    s.fire("n", {1});
    s.host.strings[DIF_VAR_execname] = "csh";
    s.fire("n", {2});
    auto records = s.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].u64(), 2u);
}

TEST(Fire, AGlobalCountsFirings)
{
    Session s;
    DofBuilder dof;
    Difo add;
    add.variable("x", 0x500, DIFV_SCOPE_GLOBAL)
        .ldgs(0x500, 1)
        .setx(1, 2)
        .op(DIF_OP_ADD, 1, 2, 1)
        .indexed(DIF_OP_STGS, 0x500, 1)
        .ret(1);
    dof.clause("p:m:f:n").trace(add);
    ASSERT_EQ(s.load(dof), "");

    for (int i = 0; i < 3; i++)
        s.fire("n");
    auto records = s.records();
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[2].u64(), 3u);
}

TEST(Fire, CountIsExactPerKey)
{
    Session s;
    DofBuilder dof;
    dof.clause("p:m:f:n").key(builtin(DIF_VAR_arg0)).aggregate(DTRACEAGG_count, 1, 1);
    ASSERT_EQ(s.load(dof), "");

    for (unsigned i = 0; i < 100; i++)
        s.fire("n", {i % 3});
    std::map<std::uint64_t, std::uint64_t> counts;
    for (const AggEntry& e : s.aggregations()) {
        std::uint64_t key;
        std::memcpy(&key, e.key.data(), 8);
        counts[key] += e.value[0];
    }
    EXPECT_EQ(counts,
              (std::map<std::uint64_t, std::uint64_t>{{0, 34}, {1, 33}, {2, 33}}));
    EXPECT_TRUE(s.records().empty());
}
