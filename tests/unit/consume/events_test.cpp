// SPDX-License-Identifier: MIT
// Tests faults, drops, exit, setopt, stacks and symbols.
#include "session.hpp"

#include "libdtrace/consume/drops.hpp"

#include <gtest/gtest.h>

using namespace dt;

namespace {

struct Names : HexSymbolizer {
    std::string uaddr(std::uint64_t pid, std::uint64_t addr) override
    {
        if (addr < 0x1000)
            return HexSymbolizer::uaddr(pid, addr);
        return "lib" + std::to_string(pid) + "`f+0x" + std::to_string(addr % 16);
    }
    std::string usym(std::uint64_t, std::uint64_t) override { return "lib`f"; }
};

std::string error(std::uint32_t action, std::uint32_t offset, std::uint32_t fault,
                  std::uint64_t value)
{
    dt_rec_error e{action, offset, fault, 0, value};
    return bytes_of(e);
}

} // namespace

TEST(Faults, AreReportedInTheWordsOfDTraceAndPrintNoRow)
{
    Session s;
    std::uint32_t epid = s.clause({{DTRACEACT_DIFEXPR, 4, s.types.lookup("int")}},
                                  "pid7", "libc", "f", "entry");
    s.record(epid, error(1, 12, DTRACEFLT_BADADDR, 0), 1, 0, 2, DT_REC_ERROR);
    s.record(epid, error(0, 4, DTRACEFLT_DIVZERO, 0), 2, 0, 2, DT_REC_ERROR);
    s.record(epid, error(9, 4, 77, 0), 3, 0, 2, DT_REC_ERROR);
    EXPECT_EQ(s.drain(), "");
    ASSERT_EQ(s.faults.size(), 3u);
    EXPECT_EQ(s.faults[0].text,
              "error on enabled probe ID 1 (ID 4: pid7:libc:f:entry): "
              "invalid address (0x0) in action #1 at DIF offset 12");
    EXPECT_EQ(s.faults[0].source, "    action of line 2;");
    EXPECT_EQ(s.faults[0].line, 2);
    EXPECT_EQ(s.faults[0].cpu, 2u);
    EXPECT_EQ(s.faults[1].text,
              "error on enabled probe ID 1 (ID 4: pid7:libc:f:entry): "
              "divide-by-zero in predicate at DIF offset 4");
    EXPECT_EQ(s.faults[1].source, "BEGIN /x/ {");
    EXPECT_EQ(s.faults[2].source, "BEGIN {");
    EXPECT_EQ(fault_text(s.faults[2].fault), "unknown fault");
}

TEST(Drops, AreTheDifferencesSinceTheLastReport)
{
    Session s;
    s.consumer();
    s.shard(0)->drops[DTRACEDROP_PRINCIPAL] = 1;
    s.shard(1)->drops[DTRACEDROP_AGGREGATION] = 2;
    s.shard(0)->drops[DTRACEDROP_DYNAMIC] = 2;
    s.shard(1)->drops[DTRACEDROP_DYNAMIC] = 3;
    EXPECT_TRUE(s.consumer().report_drops());
    EXPECT_EQ(s.drops, (std::vector<std::string>{"1 drop on CPU 0",
                                                 "2 aggregation drops on CPU 1",
                                                 "5 dynamic variable drops"}));
    s.drops.clear();
    EXPECT_TRUE(s.consumer().report_drops());
    EXPECT_TRUE(s.drops.empty());
    s.shard(0)->drops[DTRACEDROP_PRINCIPAL] = 3;
    s.consumer().display().droptags = true;
    EXPECT_TRUE(s.consumer().report_drops());
    EXPECT_EQ(s.drops,
              (std::vector<std::string>{"[DTRACEDROP_PRINCIPAL] 2 drops on CPU 0"}));
}

TEST(Drops, AreSummedOverTheRoundsOfASecond)
{
    Session s;
    s.consumer();
    std::uint64_t& lost = s.shard(0)->drops[DTRACEDROP_PRINCIPAL];
    for (int round = 0; round < 30; round++) {
        lost += 7;
        EXPECT_TRUE(s.consumer().report_drops(DrainKind::Round));
        s.now += 100'000'000;
    }
    EXPECT_EQ(s.drops,
              (std::vector<std::string>{"7 drops on CPU 0", "70 drops on CPU 0",
                                        "70 drops on CPU 0"}));
    EXPECT_TRUE(s.consumer().report_drops(DrainKind::Final));
    EXPECT_EQ(s.drops.back(), "63 drops on CPU 0");
}

TEST(Drops, OnManyCpusShareALine)
{
    Session s(64);
    s.consumer();
    for (std::uint32_t i = 0; i < 64; i++)
        s.shard(i)->drops[DTRACEDROP_PRINCIPAL] = 10;
    EXPECT_TRUE(s.consumer().report_drops());
    EXPECT_EQ(s.drops.size(), 17u);
    EXPECT_EQ(s.drops.back(), "480 drops on 48 more CPUs");
}

TEST(Drops, HaveATextForEveryKind)
{
    EXPECT_EQ(drop_text(DTRACEDROP_DYNRINSE, 1, "", false),
              "1 dynamic variable drop with non-empty rinsing list");
    EXPECT_EQ(drop_text(DTRACEDROP_DYNDIRTY, 2, "", false),
              "2 dynamic variable drops with non-empty dirty list");
    EXPECT_EQ(drop_text(DTRACEDROP_SPEC, 2, "", false), "2 speculative drops");
    EXPECT_EQ(drop_text(DTRACEDROP_SPECUNAVAIL, 1, "", false),
              "1 failed speculation (no speculative buffer available)");
    EXPECT_EQ(drop_text(DTRACEDROP_SPECBUSY, 1, "", false),
              "1 failed speculation (available buffer still busy)");
    EXPECT_EQ(drop_text(DTRACEDROP_SPECBUSY, 2, "", false),
              "2 failed speculations (available buffers still busy)");
    EXPECT_EQ(drop_text(DTRACEDROP_DBLERROR, 2, "", false),
              "2 errors in ERROR probe enabling");
    for (std::uint32_t kind = 0; kind < DTRACEDROP_N; kind++)
        EXPECT_NE(drop_text(kind, 1, "", true).find("[DTRACEDROP_"), std::string::npos);
}

TEST(Exit, TheLastStatusWins)
{
    Session s;
    std::uint32_t epid = s.clause({{DTRACEACT_EXIT, 4, s.types.lookup("int")}});
    EXPECT_FALSE(s.consumer().exit_status());
    s.record(epid, bytes_of<std::int32_t>(3), 1);
    s.record(epid, bytes_of<std::int32_t>(7), 2);
    s.drain();
    EXPECT_EQ(s.consumer().exit_status(), 7);
}

TEST(Setopt, ActsAtItsPlaceInTheStream)
{
    Session s;
    std::uint32_t print = s.clause({{DTRACEACT_DIFEXPR, 4, s.types.lookup("int")}});
    Entry name{DTRACEACT_LIBACT, 16, s.types.string_type(), "", 2, DT_LIBACT_SETOPT};
    Entry value{DTRACEACT_LIBACT, 16, s.types.string_type()};
    std::uint32_t set = s.clause({name, value});
    s.record(print, bytes_of<std::int32_t>(5), 1);
    s.record(set, field("quiet", 16) + field("yes", 16), 2);
    s.record(print, bytes_of<std::int32_t>(6), 3);
    s.record(set, field("nosuch", 16) + field("1", 16), 4);
    EXPECT_EQ(s.drain(), "        56"); // `quiet` applies to 6, but not to 5
    EXPECT_EQ(s.options_set.size(), 2u);
    ASSERT_EQ(s.faults.size(), 1u);
    EXPECT_EQ(s.faults[0].fault, static_cast<std::uint32_t>(DTRACEFLT_LIBRARY));
    EXPECT_NE(s.faults[0].text.find("couldn't set option \"nosuch\" to \"1\": "),
              std::string::npos);
}

TEST(Stacks, PrintAFramePerLineIndented)
{
    Names names;
    Session s;
    s.symbols = &names;
    Entry stack{DTRACEACT_USTACK, 8 * 5, s.types.stack_type()};
    stack.arg = DTRACE_USTACK_ARG(4, 0);
    std::uint32_t epid = s.clause({stack});
    s.consumer().display().quiet = true;
    s.record(epid, words(42, 0x1001, 0x2002, 0x30, 0));
    EXPECT_EQ(s.drain(), "\n"
                         "              lib42`f+0x1\n"
                         "              lib42`f+0x2\n"
                         "              0x30\n");
}

TEST(Stacks, SymbolsFillAColumnOfFifty)
{
    Names names;
    Session s;
    s.symbols = &names;
    std::uint32_t epid = s.clause({{DTRACEACT_USYM, 16, s.types.usymaddr_type()}});
    s.consumer().display().quiet = true;
    s.record(epid, words(42, 0x1001));
    EXPECT_EQ(s.drain(), "  lib`f" + std::string(45, ' '));
}

TEST(Stacks, UsedAsKeysComeBeforeTheirCount)
{
    Names names;
    Session s;
    s.symbols = &names;
    Entry stack{DTRACEACT_USTACK, 8 * 3, s.types.stack_type()};
    stack.arg = DTRACE_USTACK_ARG(2, 0);
    stack.in_key = true;
    stack.ntuple = 0;
    Entry count{DTRACEAGG_count};
    count.uarg = 1;
    std::uint32_t epid = s.clause({stack, count});
    Entry print{DTRACEACT_PRINTA, 8, nullptr, "%-4k%@d\n"};
    std::uint32_t formatted = s.clause({print});
    s.aggregate(epid, words(42, 0x1001, 0x2002), words(9));
    s.drain();
    EXPECT_EQ(s.dump(), "\n"
                        "              lib42`f+0x1\n"
                        "              lib42`f+0x2\n"
                        "                9\n");
    s.consumer().display().quiet = true;
    s.record(formatted, words(1));
    EXPECT_EQ(s.drain(), "\n    lib42`f+0x1\n    lib42`f+0x2\n9\n");
}
