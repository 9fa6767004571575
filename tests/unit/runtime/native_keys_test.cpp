// SPDX-License-Identifier: MIT
// Tests which keys have counters. Also tests that compiled code and the engine compute
// the same key.
#include "tests/unit/runtime/native_support.hpp"

#include "dif/counters.h"

#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

using namespace runtime_test;

namespace {

const dt_action& aggregation(InProcess& runtime)
{
    dt_clause& clause = runtime.session.clause(0);
    auto* actions =
        static_cast<dt_action*>(dt_at(runtime.session.memory(), clause.actions));
    return actions[clause.n_actions - 1];
}

dt_counted_key& counted_key(InProcess& runtime, const dt_action& action, unsigned n)
{
    return *static_cast<dt_counted_key*>(
        dt_at(runtime.session.memory(), runtime.session.arena().counters.sets +
                                            dt_counted_at(&action) +
                                            (n << dt_counted_key_shift(&action))));
}

TEST(Native, CountsAKeyFromItsSecondTimeOn)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0 & 63, arg0] = sum(arg0); }");
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    for (int i = 0; i < 5; i++)
        call(work, 67);
    auto entries = runtime.session.aggregations(); // the engine's entries come first
    ASSERT_GE(entries.size(), 2u);
    EXPECT_EQ(entries[0].value[0], 67u);
    std::uint64_t sum = 0;
    for (const auto& each : entries) {
        std::uint64_t key[2];
        ASSERT_EQ(each.key.size(), sizeof key);
        std::memcpy(key, each.key.data(), sizeof key);
        EXPECT_EQ(key[0], 3u);
        EXPECT_EQ(key[1], 67u);
        sum += each.value[0];
    }
    EXPECT_EQ(sum, 5u * 67);
}

// One clause has two probes with different names. For each probe, the engine and
// compiled code must use the same key.
TEST(Native, CountsByTheNamesOfTheProbeAndWhoTheThreadIs)
{
    InProcess runtime("pid1:a.out::entry"
                      "{ @[probefunc, tid, probemod] = count(); trace(pid); }");
    runtime.set_clock();
    runtime.add_thread();
    auto* enablings = static_cast<dt_enabling*>(
        dt_at(runtime.session.memory(), runtime.session.arena().enablings.at));
    const char* const functions[] = {"one", "the_other"};
    for (const char* function : functions) {
        std::uint32_t probe =
            dt_probe_add(runtime.session.memory(), "pid1", "a.out", function, "entry");
        ASSERT_NE(dt_ecb_add(runtime.session.memory(), probe, enablings[0].clause), 0u);
    }
    for (const char* function : functions) {
        Function work = runtime.probed(
            {{"pid1:a.out:" + std::string(function) + ":entry"}}, address(probed_work));
        ASSERT_EQ(runtime.compile(work), "");
        for (int i = 0; i < 5; i++)
            work();
    }
    EXPECT_EQ(fired_by_engine(runtime), 2u);
    std::map<std::string, std::uint64_t> counts;
    for (const auto& each : runtime.session.aggregations())
        counts[each.key] += each.value[0];
    EXPECT_EQ(counts.size(), 2u);
    const std::uint64_t strsize = runtime.session.arena().options[DTRACEOPT_strsize];
    for (const char* function : functions) {
        std::string key = function;
        key.resize(strsize);
        const auto tid = static_cast<std::uint32_t>(gettid());
        key.append(reinterpret_cast<const char*>(&tid), sizeof tid);
        key.resize(strsize + 8);
        key += "a.out";
        key.resize(2 * strsize + 8);
        EXPECT_EQ(counts[key], 5u) << function;
    }
    for (const auto& record : runtime.session.records()) {
        std::uint32_t pid;
        std::memcpy(&pid, record.payload.data(), sizeof pid);
        EXPECT_EQ(pid, runtime.config().pid);
    }
}

TEST(Native, LeavesKeysForWhichThereIsNoPlaceToTheEngine)
{
    constexpr std::uint64_t n_keys = 15000;
    InProcess runtime("pid1:a.out:work:entry { @[arg0] = count(); }");
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    for (int round = 0; round < 3; round++)
        for (std::uint64_t key = 0; key < n_keys; key++)
            call(work, key * 0x1001);
    std::map<std::string, std::uint64_t> counts;
    std::uint64_t by_engine = 0;
    for (const auto& each : runtime.session.counters())
        counts[each.key] += each.value[0];
    EXPECT_GT(counts.size(), 4000u);
    EXPECT_LE(counts.size(), aggregation(runtime).counted_keys);
    for (const auto& each : runtime.session.aggregations()) {
        counts[each.key] += each.value[0];
        by_engine += each.value[0];
    }
    EXPECT_GT(by_engine, n_keys);
    EXPECT_EQ(counts.size(), n_keys);
    for (const auto& [key, n] : counts)
        EXPECT_EQ(n, 3u);
}

// An entry stays claimed if its thread has died. No other thread uses the entry.
TEST(Native, WaitsForNoPlaceThatIsClaimed)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0] = count(); }");
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    const dt_action& action = aggregation(runtime);
    for (unsigned i = 0; i < action.counted_keys; i++)
        counted_key(runtime, action, i).state = DT_COUNTED_CLAIMED;
    for (unsigned i = 0; i < 100; i++)
        call(work, i & 3);
    Counted n = counted(runtime);
    EXPECT_EQ(n.by_engine, 100u);
    EXPECT_EQ(n.all(), 100u);
}

} // namespace
