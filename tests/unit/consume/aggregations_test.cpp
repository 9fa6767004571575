// SPDX-License-Identifier: MIT
// Tests aggregations: their sums, their order, and how distributions are drawn.
#include "session.hpp"

#include "dif/distribution.h"
#include "libdtrace/consume/numbers.hpp"

#include <gtest/gtest.h>

using namespace dt;

namespace {

// A session with aggregations. feed() adds a clause that aggregates. on() adds a clause
// with an action such as printa().
struct Counts : Session {
    explicit Counts(std::uint32_t function = DTRACEAGG_count, std::uint64_t arg = 0)
        : function_(function), arg_(arg)
    {
        display_quiet = true;
    }
    bool display_quiet;
    std::uint32_t feed(std::uint32_t id, std::vector<Entry> keys)
    {
        auto n = static_cast<std::uint32_t>(keys.size());
        for (Entry& key : keys) {
            key.in_key = true;
            key.ntuple = 0;
        }
        Entry agg{function_};
        agg.ntuple = n;
        agg.uarg = id;
        agg.arg = arg_;
        keys.push_back(agg);
        return clause(keys);
    }
    std::uint32_t on(std::uint32_t kind, std::vector<std::uint32_t> ids,
                     const std::string& format = {}, std::uint64_t arg = 0,
                     int values = 0)
    {
        std::vector<Entry> entries(ids.size() + static_cast<std::size_t>(values),
                                   Entry{kind, 8});
        entries[0].ntuple = static_cast<std::uint32_t>(entries.size());
        entries[0].format = format;
        entries[0].arg = arg;
        return clause(entries);
    }
    std::string run()
    {
        consumer().display().quiet = display_quiet;
        return drain();
    }

    std::uint32_t function_;
    std::uint64_t arg_;
};

std::string field_of(std::string text)
{
    text.resize(50, ' ');
    return text;
}

std::string buckets(std::size_t n,
                    std::initializer_list<std::pair<int, std::int64_t>> counts,
                    std::uint64_t arg = 0, bool has_arg = false)
{
    std::string value = has_arg ? words(arg) : "";
    std::vector<std::int64_t> all(n);
    for (auto [bucket, count] : counts)
        all[static_cast<std::size_t>(bucket)] = count;
    for (std::int64_t count : all)
        value += words(count);
    return value;
}

} // namespace

TEST(Aggregations, SumShardsAndPrintKeysAndValuesInColumnsAscending)
{
    Counts s;
    Entry text{DTRACEACT_DIFEXPR, 64, s.types.string_type()};
    Entry number{DTRACEACT_DIFEXPR, 4, s.types.lookup("int")};
    std::uint32_t epid = s.feed(1, {text, number});
    s.aggregate(epid, field("zsh", 64) + bytes_of<std::int32_t>(1), words(2), 0);
    s.aggregate(epid, field("bash", 64) + bytes_of<std::int32_t>(1), words(2), 0);
    s.aggregate(epid, field("awk", 64) + bytes_of<std::int32_t>(-3), words(4), 0);
    s.aggregate(epid, field("awk", 64) + bytes_of<std::int32_t>(-3), words(5), 1);
    s.run();
    // A string key takes 52 columns, an int key 9, and a value 17.
    EXPECT_EQ(s.dump(), "  " + field_of("bash") + "        1                2\n" +
                            "  " + field_of("zsh") + "        1                2\n" +
                            "  " + field_of("awk") + "       -3                9\n");
}

TEST(Aggregations, SortByKeyReversedAndByAnyPosition)
{
    Counts s;
    Entry number{DTRACEACT_DIFEXPR, 8, s.types.lookup("long")};
    std::uint32_t epid = s.feed(1, {number, number});
    for (auto [a, b, n] : {std::array{1, 9, 5}, {2, 8, 6}, {3, 7, 4}})
        s.aggregate(epid, words(a, b), words(n));
    s.run();
    auto first = [&] {
        std::string text = s.dump();
        std::string order;
        for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
            order += text[at + 16];
        return order;
    };
    Display& display = s.consumer().display();
    EXPECT_EQ(first(), "312");
    display.aggsortrev = true;
    EXPECT_EQ(first(), "213");
    display.aggsortkey = true;
    EXPECT_EQ(first(), "321");
    display.aggsortrev = false;
    EXPECT_EQ(first(), "123");
    display.aggsortkeypos = 1;
    EXPECT_EQ(first(), "321");
}

TEST(Aggregations, AveragesTruncateTowardZeroAndDeviationsAreExact)
{
    Counts avg(DTRACEAGG_avg);
    std::uint32_t epid = avg.feed(1, {});
    avg.aggregate(epid, "", words(2, -7));
    avg.run();
    EXPECT_EQ(avg.dump(), "               -3\n");

    Counts dev(DTRACEAGG_stddev);
    epid = dev.feed(1, {});
    // The sum of the squares of 10^10 and -10^10 needs more than 64 bits.
    unsigned __int128 squares = (unsigned __int128){10000000000} * 10000000000 * 2;
    dev.aggregate(epid, "",
                  words(2, 0, static_cast<std::uint64_t>(squares),
                        static_cast<std::uint64_t>(squares >> 64)));
    dev.run();
    EXPECT_EQ(dev.dump(), "      10000000000\n");
}

TEST(Aggregations, MinAndMaxKeepTheExtremeOfAllShards)
{
    Counts s(DTRACEAGG_min);
    std::uint32_t epid = s.feed(1, {});
    s.aggregate(epid, "", words(-5), 0);
    s.aggregate(epid, "", words(3), 1);
    s.run();
    EXPECT_EQ(s.dump(), "               -5\n");
    Counts m(DTRACEAGG_max);
    epid = m.feed(1, {});
    m.aggregate(epid, "", words(-5), 0);
    m.aggregate(epid, "", words(-9), 1);
    m.run();
    EXPECT_EQ(m.dump(), "               -5\n");
}

TEST(Aggregations, PrintaPrintsRowsAfterANewlineAndKeepsThemFromTheDump)
{
    Counts s;
    Entry text{DTRACEACT_DIFEXPR, 16, s.types.string_type()};
    std::uint32_t one = s.feed(1, {text});
    std::uint32_t two = s.feed(2, {text});
    std::uint32_t print = s.on(DTRACEACT_PRINTA, {1});
    s.aggregate(one, field("a", 16), words(1));
    s.aggregate(two, field("b", 16), words(2));
    s.record(print, words(1));
    EXPECT_EQ(
        s.run(),
        "\n  a                                                                 1\n");
    EXPECT_EQ(
        s.dump(),
        "  b                                                                 2\n");
}

TEST(Aggregations, PrintaOfOneNeverUpdatedPrintsNothing)
{
    Counts s;
    s.feed(1, {});
    std::uint32_t print = s.on(DTRACEACT_PRINTA, {1}, "%@d\n");
    s.record(print, words(1));
    EXPECT_EQ(s.run(), "");
}

TEST(Aggregations, PrintaJoinsSeveralByKeyAndRepeatsTheLastValue)
{
    Counts s;
    Entry text{DTRACEACT_DIFEXPR, 16, s.types.string_type()};
    std::uint32_t one = s.feed(1, {text});
    std::uint32_t two = s.feed(2, {text});
    std::uint32_t print = s.on(DTRACEACT_PRINTA, {1, 2}, "%-4s|%@d %@3u %@x|\n");
    std::uint32_t plain = s.on(DTRACEACT_PRINTA, {1, 2});
    s.aggregate(one, field("a", 16), words(5));
    s.aggregate(one, field("b", 16), words(3));
    s.aggregate(two, field("b", 16), words(10));
    s.aggregate(two, field("c", 16), words(26));
    s.record(print, words(1, 2), 1);
    s.record(plain, words(1, 2), 2);
    std::string blanks(49, ' ');
    EXPECT_EQ(s.run(), "c   |0  26 1a|\n"
                       "b   |3  10 a|\n"
                       "a   |5   0 0|\n"
                       "\n"
                       "  c" +
                           blanks +
                           "                0               26\n"
                           "  b" +
                           blanks +
                           "                3               10\n"
                           "  a" +
                           blanks + "                5                0\n");
    s.consumer().display().aggsortpos = 1;
    s.record(print, words(1, 2), 3);
    EXPECT_EQ(s.run(), "a   |5   0 0|\nb   |3  10 a|\nc   |0  26 1a|\n");
}

TEST(Aggregations, ClearKeepsKeysTruncRemovesThemNormalizeDivides)
{
    Counts s;
    Entry number{DTRACEACT_DIFEXPR, 4, s.types.lookup("int")};
    std::uint32_t feed = s.feed(1, {number});
    std::uint32_t show = s.on(DTRACEACT_PRINTA, {1}, "%d:%@d ");
    std::uint32_t clear = s.on(DTRACEACT_LIBACT, {1}, "", DT_LIBACT_CLEAR);
    std::uint32_t trunc = s.on(DTRACEACT_LIBACT, {1}, "", DT_LIBACT_TRUNC, 1);
    std::uint32_t all = s.on(DTRACEACT_LIBACT, {1}, "", DT_LIBACT_TRUNC);
    std::uint32_t normal = s.on(DTRACEACT_LIBACT, {1}, "", DT_LIBACT_NORMALIZE, 1);
    std::uint32_t back = s.on(DTRACEACT_LIBACT, {1}, "", DT_LIBACT_DENORMALIZE);
    auto add = [&] {
        for (int i = 1; i <= 4; i++)
            s.aggregate(feed, bytes_of<std::int32_t>(i), words(i * 10));
    };
    add();
    std::uint64_t time = 1;
    s.record(normal, words(1, 10), time++);
    s.record(show, words(1), time++);
    s.record(back, words(1), time++);
    s.record(trunc, words(1, 3), time++);
    s.record(show, words(1), time++);
    s.record(trunc, words(1, -2), time++);
    s.record(show, words(1), time++);
    s.record(clear, words(1), time++);
    s.record(show, words(1), time++);
    s.record(all, words(1), time++);
    s.record(show, words(1), time++);
    EXPECT_EQ(s.run(), "1:1 2:2 3:3 4:4 2:20 3:30 4:40 2:20 3:30 2:0 3:0 ");
    add();
    s.record(normal, words(1, 0), time++);
    s.record(show, words(1), time++);
    EXPECT_EQ(s.run(), "1:10 2:20 3:30 4:40 ");
    EXPECT_EQ(s.complaints.size(), 1u);
}

TEST(Distributions, DrawPowersOfTwoWithOneEmptyBucketOnEachSide)
{
    Counts s(DTRACEAGG_quantize);
    std::uint32_t epid = s.feed(1, {});
    auto at = [](std::int64_t v) { return static_cast<int>(dt_quantize_bucket(v)); };
    s.aggregate(epid, "", buckets(127, {{at(0), 1}, {at(1), 2}, {at(5), 5}}));
    s.run();
    EXPECT_EQ(s.dump(),
              "\n"
              "           value  ------------- Distribution ------------- count    \n"
              "              -1 |                                         0        \n"
              "               0 |@@@@@                                    1        \n"
              "               1 |@@@@@@@@@@                               2        \n"
              "               2 |                                         0        \n"
              "               4 |@@@@@@@@@@@@@@@@@@@@@@@@@                5        \n"
              "               8 |                                         0        \n"
              "\n");
}

TEST(Distributions, DrawNegativeCountsToTheLeftAndSplitMixedOnes)
{
    Counts s(DTRACEAGG_quantize);
    std::uint32_t epid = s.feed(1, {});
    s.aggregate(epid, "", buckets(127, {{64, -1}, {65, -3}}));
    s.run();
    EXPECT_EQ(s.dump(),
              "\n"
              "           value  ------------- Distribution ------------- count    \n"
              "               0                                         | 0        \n"
              "               1                               @@@@@@@@@@| -1       \n"
              "               2           @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@| -3       \n"
              "               4                                         | 0        \n"
              "\n");
    Counts m(DTRACEAGG_quantize);
    epid = m.feed(1, {});
    m.aggregate(epid, "", buckets(127, {{64, -1}, {65, 3}}));
    m.run();
    EXPECT_EQ(m.dump(),
              "\n"
              "           value  ------------- Distribution ------------- count    \n"
              "               0                     |                     0        \n"
              "               1                @@@@@|                     -1       \n"
              "               2                     |@@@@@@@@@@@@@@@      3        \n"
              "               4                     |                     0        \n"
              "\n");
}

TEST(Distributions, AddTheShortValuesOfAKeyToItsBuckets)
{
    std::uint64_t arg = DTRACE_LQUANTIZE_ARG(10, 3, 0);
    Counts s(DTRACEAGG_lquantize, arg);
    std::uint32_t epid = s.feed(1, {});
    s.aggregate(epid, "", words(1, 2), 0);
    s.aggregate(epid, "", words(5, 3), 1);
    s.aggregate(epid, "", buckets(5, {{0, 1}, {1, 4}}, arg, true), 1);
    s.aggregate(epid, "", words(5, 2), 0);
    s.run();
    EXPECT_EQ(s.complaints.size(), 0u);
    EXPECT_EQ(s.dump(),
              "\n"
              "           value  ------------- Distribution ------------- count    \n"
              "             < 0 |@@@@@@@@@@                               3        \n"
              "               0 |@@@@@@@@@@@@@                            4        \n"
              "              10 |                                         0        \n"
              "              20 |                                         0        \n"
              "           >= 30 |@@@@@@@@@@@@@@@@@                        5        \n"
              "\n");
}

// A short value (struct dt_aggpoint) consists of the index of a word and a number to
// add to the word. The word must be a bucket. Word 0 of lquantize() is not a bucket,
// because it contains the parameters.
TEST(Distributions, RefuseShortValuesForOtherWordsThanBuckets)
{
    const std::uint64_t arg = DTRACE_LQUANTIZE_ARG(10, 3, 0);
    struct {
        std::uint32_t function;
        std::uint64_t arg, word;
        bool is_honest;
    } const cases[] = {
        {DTRACEAGG_quantize, 0, 0, true},
        {DTRACEAGG_quantize, 0, 126, true},
        {DTRACEAGG_quantize, 0, 127, false},
        {DTRACEAGG_quantize, 0, 1ull << 61, false},
        {DTRACEAGG_lquantize, arg, 0, false},
        {DTRACEAGG_lquantize, arg, 5, true},
        {DTRACEAGG_lquantize, arg, 6, false},
        {DTRACEAGG_count, 0, 0, false},
        {DTRACEAGG_stddev, 0, 0, false},
    };
    for (const auto& c : cases) {
        Counts s(c.function, c.arg);
        const std::uint32_t epid = s.feed(1, {});
        s.aggregate(epid, "", words(c.word, 1));
        s.run();
        EXPECT_EQ(s.complaints.size(), c.is_honest ? 0u : 1u)
            << c.function << " " << c.word;
        EXPECT_EQ(s.dump().empty(), !c.is_honest) << c.function << " " << c.word;
    }
}

TEST(Distributions, LabelTheEndsOfLinearOnes)
{
    std::uint64_t arg = DTRACE_LQUANTIZE_ARG(10, 3, 0);
    Counts s(DTRACEAGG_lquantize, arg);
    std::uint32_t epid = s.feed(1, {});
    s.aggregate(epid, "", buckets(5, {{0, 1}, {4, 3}}, arg, true));
    s.run();
    EXPECT_EQ(s.dump(),
              "\n"
              "           value  ------------- Distribution ------------- count    \n"
              "             < 0 |@@@@@@@@@@                               1        \n"
              "               0 |                                         0        \n"
              "              10 |                                         0        \n"
              "              20 |                                         0        \n"
              "           >= 30 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@           3        \n"
              "\n");
}

TEST(Distributions, LabelLogLinearOnesAsTheEngineCountsThem)
{
    std::uint64_t arg = DTRACE_LLQUANTIZE_ARG(10, 0, 2, 10);
    std::size_t n = dt_llquantize_buckets(arg);
    Counts s(DTRACEAGG_llquantize, arg);
    std::uint32_t epid = s.feed(1, {});
    auto at = [&](std::int64_t v) {
        return static_cast<int>(dt_llquantize_bucket(arg, v));
    };
    s.aggregate(epid, "",
                buckets(n, {{at(8), 1}, {at(25), 1}, {at(5000), 2}}, arg, true));
    s.run();
    std::string text = s.dump();
    EXPECT_NE(text.find("\n               8 |@@@@@@@@@@  "), text.npos) << text;
    EXPECT_NE(text.find("\n              20 |@@@@@@@@@@  "), text.npos) << text;
    EXPECT_NE(text.find("\n         >= 1000 |@@@@@@@@@@@@@@@@@@@@  "), text.npos)
        << text;
    EXPECT_NE(text.find("count    \n               7 |  "), text.npos) << text;
}

TEST(Distributions, NormalizeTheirCountsAndSortByWeightedSum)
{
    Counts s(DTRACEAGG_quantize);
    Entry number{DTRACEACT_DIFEXPR, 4, s.types.lookup("int")};
    std::uint32_t feed = s.feed(1, {number});
    std::uint32_t normal = s.on(DTRACEACT_LIBACT, {1}, "", DT_LIBACT_NORMALIZE, 1);
    s.aggregate(feed, bytes_of<std::int32_t>(7), buckets(127, {{70, 6}}));
    s.aggregate(feed, bytes_of<std::int32_t>(8), buckets(127, {{64, 100}}));
    s.record(normal, words(1, 2));
    s.run();
    std::string text = s.dump();
    EXPECT_LT(text.find("        8\n"), text.find("        7\n")) << text;
    EXPECT_NE(text.find("@ 50       \n"), text.npos) << text;
    EXPECT_NE(text.find("@ 3        \n"), text.npos) << text;
}

TEST(Distributions, EmptyOnesShowTheBucketsAroundZero)
{
    Counts s(DTRACEAGG_quantize);
    std::uint32_t feed = s.feed(1, {});
    std::uint32_t clear = s.on(DTRACEACT_LIBACT, {1}, "", DT_LIBACT_CLEAR);
    s.aggregate(feed, "", buckets(127, {{70, 6}}));
    s.record(clear, words(1));
    s.run();
    EXPECT_EQ(s.dump(),
              "\n"
              "           value  ------------- Distribution ------------- count    \n"
              "              -1 |                                         0        \n"
              "               0 |                                         0        \n"
              "               1 |                                         0        \n"
              "\n");
}

// Shard N corresponds to CPU N. If the machine has no CPU with this number, the CPU is
// unknown.
TEST(Places, KeepWhatEachCpuCountedUntilItIsCleared)
{
    Counts s(DTRACEAGG_min);
    s.per_cpu = true;
    std::uint32_t feeds = s.feed(1, {});
    s.aggregate(feeds, "", bytes_of<std::int64_t>(5), 0);
    s.aggregate(feeds, "", bytes_of<std::int64_t>(7), 1);
    s.run();
    s.aggregate(feeds, "", bytes_of<std::int64_t>(3), 1);
    s.run();

    Aggregates& all = s.consumer().aggregates();
    AggEntry* entry = all.entries(1, AggOrder::Key, Display{}).at(0);
    auto at = [&](std::size_t place) {
        return load_as<std::int64_t>(entry->place(place).data());
    };
    ASSERT_EQ(entry->places.size(), 3 * sizeof(std::int64_t));
    EXPECT_EQ(entry->word(0), 3);
    EXPECT_EQ(at(0), 5);
    EXPECT_EQ(at(1), 3);
    EXPECT_EQ(at(2), 0);

    all.clear(1);
    EXPECT_EQ(at(0), 0);
    s.aggregate(feeds, "", bytes_of<std::int64_t>(9), 0);
    s.run();
    EXPECT_EQ(at(0), 9);
}

TEST(Places, AreNotKeptUnlessAskedFor)
{
    Counts s;
    std::uint32_t feeds = s.feed(1, {});
    s.aggregate(feeds, "", bytes_of<std::int64_t>(5), 0);
    s.run();
    EXPECT_TRUE(s.consumer()
                    .aggregates()
                    .entries(1, AggOrder::Key, Display{})
                    .at(0)
                    ->places.empty());
}
