// SPDX-License-Identifier: MIT
// Tests a target that writes arbitrary bytes into the arena. The consumer must finish,
// read only inside its buffers, and report the invalid data.
#include "session.hpp"

#include "libdtrace/consume/typed.hpp"

#include "dif/distribution.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <gtest/gtest.h>
#include <malloc.h>
#include <random>
#include <thread>

using namespace dt;

namespace {

// A session with all kinds of records and aggregations that contain counts or lengths.
struct Everything : Session {
    Everything() : Session(4)
    {
        const Type* str = types.string_type();
        const Type* i = types.lookup("int");
        Entry stack{DTRACEACT_USTACK, 8 * 9, types.stack_type()};
        stack.arg = DTRACE_USTACK_ARG(8, 0);
        printf("%s %*.*d %S %k\n", {str, i, i, i, str});
        clause({stack,
                {DTRACEACT_DIFEXPR, 256, str},
                {DTRACEACT_USYM, 16, types.usymaddr_type()},
                {DTRACEACT_DIFEXPR, 40, types.array_of(types.lookup("char"), 40)}});
        clause({{DTRACEACT_TRACEMEM, 64, nullptr, "", 2},
                {DTRACEACT_TRACEMEM_DYNSIZE, 8}});
        for (auto [function, arg] :
             {std::pair{DTRACEAGG_quantize, std::uint64_t{0}},
              {DTRACEAGG_lquantize, DTRACE_LQUANTIZE_ARG(10, 10, -5)},
              {DTRACEAGG_llquantize, DTRACE_LLQUANTIZE_ARG(10, 0, 6, 20)},
              {DTRACEAGG_stddev, std::uint64_t{0}},
              {DTRACEAGG_avg, std::uint64_t{0}}}) {
            Entry key{DTRACEACT_DIFEXPR, 256, str};
            key.in_key = true;
            key.ntuple = 0;
            Entry agg{static_cast<std::uint32_t>(function)};
            agg.arg = arg;
            agg.uarg = ++n_aggregations;
            clause({key, agg});
        }
        clause({{DTRACEACT_PRINTA, 8}});
        for (std::uint64_t act = 1; act <= 6; act++)
            if (act != DT_LIBACT_SETOPT)
                clause({{DTRACEACT_LIBACT, 8, nullptr, "", 2, act},
                        {DTRACEACT_LIBACT, 8}});
    }
    std::uint32_t n_epids() { return arena()->ecbs.n; }
    std::uint32_t n_aggregations = 0;
};

std::string noise(std::mt19937_64& random, std::size_t bytes)
{
    std::string out(bytes, '\0');
    for (char& c : out)
        c = static_cast<char>(random());
    return out;
}

} // namespace

TEST(Hostile, RandomBytesInBuffersEndInAComplaint)
{
    std::mt19937_64 random(1);
    for (int round = 0; round < 200; round++) {
        Everything s;
        for (std::uint32_t shard = 0; shard < 4; shard++) {
            s.raw(shard, noise(random, random() % 4096 & ~7ull));
            s.raw_aggregations(shard, noise(random, random() % 4096 & ~7ull));
        }
        s.drain(DrainKind::Round);
        s.drain(DrainKind::Final);
        s.dump();
        EXPECT_LE(s.complaints.size(), 4u);
    }
}

TEST(Hostile, RightHeadersWithRandomValuesPrintSomethingAndEnd)
{
    std::mt19937_64 random(2);
    for (int round = 0; round < 60; round++) {
        Everything s;
        s.consumer().display().flowindent = round % 2;
        for (int i = 0; i < 40; i++) {
            auto epid = static_cast<std::uint32_t>(random() % (s.n_epids() + 2));
            const EcbInfo* ecb = s.consumer().ecb(epid);
            if (!ecb)
                continue;
            auto flags = static_cast<std::uint16_t>(random() % 8 == 0);
            std::string body =
                noise(random, (flags ? 40 : ecb->record_bytes) - sizeof(dt_rechdr));
            // A random width or precision can be in the millions, so printing would
            // take too long. values_test.cpp tests such values.
            if (epid == 1 && !flags)
                std::memset(body.data() + 256, 0, 8);
            s.record(epid, body, random(), static_cast<std::uint32_t>(random() % 4),
                     static_cast<std::uint16_t>(random()), flags);
        }
        for (std::uint32_t epid = 4; epid < 4 + s.n_aggregations; epid++) {
            std::size_t words_ = std::array<std::size_t, 5>{
                127, 13, dt_llquantize_buckets(DTRACE_LLQUANTIZE_ARG(10, 0, 6, 20)) + 1,
                4, 2}[epid - 4];
            s.aggregate(epid, noise(random, 256), noise(random, words_ * 8));
        }
        s.drain(DrainKind::Round);
        s.drain(DrainKind::Final);
        s.dump();
    }
}

TEST(Hostile, ATimeFarInTheFutureIsNotHeldBackForEver)
{
    Session s;
    std::uint32_t epid = s.printf("x", {});
    s.consumer().display().quiet = true;
    s.record(epid, "", ~0ull);
    std::string text = s.drain(DrainKind::Round);
    s.now++;
    EXPECT_EQ(text + s.drain(DrainKind::Round), "x");
}

TEST(Hostile, ScribbledShardsNeverLeadOutsideTheArena)
{
    std::mt19937_64 random(3);
    for (int round = 0; round < 100; round++) {
        Everything s;
        s.record(2, noise(random, 4096), 1, 0);
        for (std::uint32_t n = 0; n < 4; n++) {
            auto* bytes = reinterpret_cast<char*>(s.shard(n));
            for (int i = 0; i < 20; i++)
                bytes[random() % sizeof(dt_shard)] = static_cast<char>(random());
            s.shard(n)->lock = 0;
        }
        s.drain(DrainKind::Round);
        s.consumer().fullest();
        s.consumer().report_drops();
        s.drain(DrainKind::Final);
    }
}

TEST(Hostile, AThreadThatWritesWhileBuffersAreReadDoesNoHarm)
{
    Everything s;
    s.consumer();
    std::atomic<bool> stop = false;
    auto* shards = reinterpret_cast<volatile std::uint64_t*>(s.shard(0));
    const std::size_t n_words = s.arena()->shard_bytes / 8;
    std::thread writer([&] {
        std::mt19937_64 random(4);
        const std::uint64_t at = s.arena()->plan.principal[0] / 8;
        while (!stop) {
            dt_rechdr header{static_cast<dt_u32>(random() % 12), 0,
                             static_cast<dt_u16>(random() % 2), random() % 1000};
            std::uint64_t parts[2];
            std::memcpy(parts, &header, sizeof parts);
            std::uint64_t word = at + random() % 512;
            shards[word] = parts[0];
            shards[word + 1] = parts[1];
            s.shard(0)->principal[0].used = random() % (300u << 10);
            s.shard(0)->agg[0].used = random() % (300u << 10);
            shards[s.arena()->plan.agg[0] / 8 + random() % (n_words / 8) % 4096] =
                random();
            s.shard(0)->lock = 0;
            s.shard(0)->active = 0;
        }
    });
    for (int round = 0; round < 300; round++)
        s.drain(DrainKind::Round);
    stop = true;
    writer.join();
    s.drain(DrainKind::Final);
}

TEST(Hostile, ForgedNumbersOfAggregationsTakeNoMemory)
{
    Session s;
    const std::uint32_t epid =
        s.clause({{DTRACEACT_LIBACT, 8, nullptr, "", 1, DT_LIBACT_CLEAR}});
    s.consumer().display().quiet = true;
    std::uint64_t id = 1000;
    auto forge = [&] {
        for (int i = 0; i < 5000; i++)
            s.record(epid, words(id++));
        s.drain(DrainKind::Round);
    };
    forge();
    const std::size_t before = mallinfo2().uordblks;
    for (int round = 0; round < 10; round++)
        forge();
    EXPECT_LT(mallinfo2().uordblks, before + (1u << 20));
}

static std::uint64_t cpu_ns()
{
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(used.tv_nsec);
}

// Returns the CPU time that the consumer needs for n_records records with forged CPU
// numbers.
static std::uint64_t time_of_returns(std::uint32_t n_records)
{
    constexpr std::uint32_t n_shards = 16;
    Session s(n_shards);
    const std::uint32_t epid =
        s.clause({{DTRACEACT_DIFEXPR, 0}}, "pid1", "a.out", "work", "return");
    s.consumer().display().flowindent = true;
    std::uint16_t cpu = 0;
    for (std::uint32_t shard = 0; shard < n_shards; shard++)
        for (std::uint32_t i = 0; i < n_records / n_shards; i++)
            s.record(epid, "", 1, shard, cpu++);
    const std::uint64_t began = cpu_ns();
    FlowLines lines;
    s.drain(DrainKind::Final, &lines);
    EXPECT_EQ(std::count(lines.text.begin(), lines.text.end(), '\n'), n_records);
    return cpu_ns() - began;
}

TEST(Hostile, ReturnsOnForgedCpusTakeLinearTime)
{
    // A search of all CPUs for each record would take 64 times as long.
    const std::uint64_t few = time_of_returns(8192);
    EXPECT_LT(time_of_returns(65536), 32 * few);
}

namespace {

struct SlowSession : Session {
    bool slow = true;
    std::optional<std::string> setopt(std::string_view, std::string_view) override
    {
        if (slow)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        return std::nullopt;
    }
};

} // namespace

TEST(Hostile, RecordsThatTakeLongAreLeftToTheNextRound)
{
    SlowSession s;
    const std::uint32_t epid =
        s.clause({{DTRACEACT_LIBACT, 8, nullptr, "", 2, DT_LIBACT_SETOPT},
                  {DTRACEACT_LIBACT, 8}});
    s.consumer().display().quiet = true;
    s.consumer().display().temporal = true;
    for (int i = 0; i < 2000; i++)
        s.record(epid, words(1, 1));
    s.drain(DrainKind::Round);
    EXPECT_TRUE(s.consumer().is_late());
    EXPECT_LT(s.consumer().consumed_until(), s.now);
    s.slow = false;
    s.drain(DrainKind::Round);
    EXPECT_FALSE(s.consumer().is_late());
    EXPECT_EQ(s.consumer().consumed_until(), s.now);
}

namespace {

// @victim has id 1, and @own has id 2. A record of an action on @own must not name
// @victim.
struct TwoAggregations : Session {
    static constexpr std::uint64_t victim = 1, own = 2;
    TwoAggregations()
    {
        for (std::uint64_t id : {victim, own}) {
            Entry count{DTRACEAGG_count, 0};
            count.ntuple = 0;
            count.uarg = id;
            aggregate(clause({count}), "", words(5), 1);
        }
    }
    Entry names_own(std::uint32_t kind, std::uint32_t n_values, std::uint64_t act = 0)
    {
        Entry entry{kind, 8, nullptr, "", n_values, act};
        entry.constant = own;
        return entry;
    }
    std::size_t n_of(std::uint32_t id)
    {
        return consumer().aggregates().entries(id, AggOrder::Key, Display{}).size();
    }
};

} // namespace

TEST(Hostile, ARecordCannotNameAnotherAggregationThanItsClause)
{
    for (const std::uint64_t forged : {TwoAggregations::victim, TwoAggregations::own}) {
        TwoAggregations s;
        const std::uint32_t epid =
            s.clause({s.names_own(DTRACEACT_LIBACT, 1, DT_LIBACT_TRUNC)});
        s.drain(DrainKind::Round);
        s.record(epid, words(forged));
        s.drain(DrainKind::Round);
        EXPECT_EQ(s.n_of(TwoAggregations::victim), 1u);
        const bool is_honest = forged == TwoAggregations::own;
        EXPECT_EQ(s.n_of(TwoAggregations::own), is_honest ? 0u : 1u);
        EXPECT_EQ(s.complaints.size(), is_honest ? 0u : 1u);
    }
}

TEST(Hostile, PrintaPrintsOnlyTheAggregationOfItsClause)
{
    TwoAggregations s;
    const std::uint32_t epid = s.clause({s.names_own(DTRACEACT_PRINTA, 1)});
    s.consumer().display().quiet = true;
    s.record(epid, words(TwoAggregations::victim));
    EXPECT_EQ(s.drain(), "");
    EXPECT_EQ(s.complaints.size(), 1u);
}

TEST(Hostile, SetoptSetsOnlyTheOptionOfItsClause)
{
    for (const std::string value : {"1s", "1ns"}) {
        Session s;
        Entry name{DTRACEACT_LIBACT, 16, nullptr, "", 2, DT_LIBACT_SETOPT};
        name.constant = "switchrate";
        Entry to{DTRACEACT_LIBACT, 16};
        to.constant = "1s";
        const std::uint32_t epid = s.clause({name, to});
        s.record(epid, field("switchrate", 16) + field(value, 16));
        s.drain();
        EXPECT_EQ(s.options_set.size(), value == "1s" ? 1u : 0u);
    }
}

TEST(Hostile, ACommandKeepsTheConstantsOfItsClause)
{
    for (const std::string word : {"true", "false"}) {
        Session s;
        Entry command{DTRACEACT_SYSTEM, 5, s.types.string_type(), "%s"};
        command.constant = "truest"; // longer than the five bytes of the value
        const std::uint32_t epid = s.clause({command});
        s.record(epid, field(word, 5));
        s.drain();
        EXPECT_EQ(s.complaints.size(), word == "true" ? 0u : 1u);
    }
}

// The members of a union share their bytes, so a few bytes are printed many times.
TEST(Hostile, PrintOfAUnionWithManyArraysIsCut)
{
    for (const OutputForm form : {OutputForm::text, OutputForm::json}) {
        Session s;
        const Type* array = s.types.array_of(s.types.lookup("int"), 1024);
        Type* type = s.types.declare(TypeKind::Union, "many");
        type->size = 4096;
        for (int i = 0; i < 10'000; i++)
            type->members.push_back({"m" + std::to_string(i), array, 0, 0});
        Entry entry{DTRACEACT_DIFEXPR, 4096, type};
        entry.is_print = true;
        s.record(s.clause({entry}), std::string(4096, 'x'));
        s.consumer().display().form = form;
        const std::string text = s.drain();
        EXPECT_GT(text.size(), max_typed_text);
        EXPECT_LT(text.size(), 4 * max_typed_text);
        EXPECT_NE(text.find(typed_rest), std::string::npos);
    }
}

TEST(Hostile, JsonOfManyMembersTakesLinearTime)
{
    auto time_of = [](int n_members) {
        Session s;
        Type* type = s.types.declare(TypeKind::Union, "many");
        type->size = 4;
        for (int i = 0; i < n_members; i++)
            type->members.push_back(
                {"m" + std::to_string(i), s.types.lookup("int"), 0, 0});
        s.record(s.clause({{DTRACEACT_DIFEXPR, 4, type}}), std::string(4, 'x'));
        s.consumer().display().form = OutputForm::json;
        const std::uint64_t began = cpu_ns();
        EXPECT_FALSE(s.drain().empty());
        return cpu_ns() - began;
    };
    // A comparison of all members with each other would take 256 times as long.
    EXPECT_LT(time_of(64'000), 64 * time_of(4'000));
}

TEST(Hostile, JsonEscapesControlsThatATerminalObeys)
{
    Session s;
    const std::uint32_t epid =
        s.clause({{DTRACEACT_DIFEXPR, 16, s.types.string_type()}});
    s.record(epid, field("\x1b[\x7f|\u009b|\u0080|\u00a0|\u00e4", 16));
    s.consumer().display().form = OutputForm::json;
    const std::string text = s.drain();
    EXPECT_NE(text.find("\"\\u001b[\\u007f|\\u009b|\\u0080|\u00a0|\u00e4\""),
              std::string::npos)
        << text;
}

TEST(Hostile, ShardsThatStayLockedDelayRoundsOnlyALittle)
{
    constexpr std::uint32_t n_shards = 64;
    Session s(n_shards);
    const std::uint32_t epid = s.printf("x", {});
    s.consumer().display().quiet = true;
    s.consumer();
    for (std::uint32_t shard = 0; shard < n_shards; shard++) {
        s.record(epid, "", 1, shard);
        if (shard != 0)
            s.shard(shard)->lock = 1;
    }
    std::string text;
    const std::uint64_t began = cpu_ns();
    for (int round = 0; round < 20; round++)
        text += s.drain(DrainKind::Round);
    EXPECT_LT(cpu_ns() - began, 1'000'000'000u);
    EXPECT_EQ(text, "x");
}
