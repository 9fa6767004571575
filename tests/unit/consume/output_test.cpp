// SPDX-License-Identifier: MIT
// Tests output to files, freopen(), system(), sinks and handlers.
#include "session.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace dt;

namespace {

struct Files : testing::Test {
    std::filesystem::path folder = [] {
        char name[] = "/tmp/consume-XXXXXX";
        return std::filesystem::path(mkdtemp(name));
    }();
    ~Files() override { std::filesystem::remove_all(folder); }
    std::string path(const char* name) const { return folder / name; }
    static std::string content(const std::string& path)
    {
        std::ifstream in(path);
        std::stringstream text;
        text << in.rdbuf();
        return text.str();
    }
};

std::uint32_t statement(Session& s, std::uint32_t kind, const std::string& format,
                        std::uint64_t arg = 0)
{
    Entry entry{kind};
    entry.format = format;
    entry.arg = arg;
    return s.clause({entry});
}

struct Asking : RecordSink {
    Verdict on_probe = Verdict::This, on_record = Verdict::This;
    std::vector<std::uint32_t> actions;
    int ends = 0;
    Verdict probe(const ProbeData&) override { return on_probe; }
    Verdict record(const ProbeData&, const RecordDesc* desc) override
    {
        if (!desc) {
            ends++;
            return Verdict::This;
        }
        actions.push_back(desc->action);
        return on_record;
    }
};

} // namespace

TEST_F(Files, FreopenGoesToTheFileAndBack)
{
    Session s;
    std::uint32_t print = s.printf("x%d", {s.types.lookup("int")});
    std::uint32_t away = statement(s, DTRACEACT_FREOPEN, path("away"));
    Entry empty{DTRACEACT_FREOPEN};
    empty.bytes = 8;
    empty.type = s.types.string_type();
    empty.format = "%s";
    std::uint32_t back = s.clause({empty});
    std::uint32_t bad = statement(s, DTRACEACT_FREOPEN, path("no/such/folder"));
    s.consumer().display().quiet = true;
    std::uint64_t time = 1;
    for (auto [epid, number] : {std::pair{print, 1},
                                {away, 0},
                                {print, 2},
                                {bad, 0},
                                {print, 3},
                                {back, 0},
                                {print, 4}})
        s.record(epid,
                 epid == print  ? bytes_of<std::int32_t>(number)
                 : epid == back ? field("", 8)
                                : "",
                 time++);
    std::FILE* file = std::fopen(path("first").c_str(), "w");
    FileOutput out(file);
    PrintAll print_all;
    EXPECT_TRUE(s.consumer().drain(DrainKind::Final, out, print_all));
    EXPECT_TRUE(out.flush());
    std::fclose(file);
    EXPECT_EQ(content(path("first")), "x1x4");
    EXPECT_EQ(content(path("away")), "x2x3");
    EXPECT_EQ(s.complaints.size(), 1u);
}

TEST_F(Files, SystemRunsAtItsPlaceAndFtruncateEmpties)
{
    Session s;
    std::uint32_t print = s.printf("x%d\n", {s.types.lookup("int")});
    std::uint32_t run =
        statement(s, DTRACEACT_SYSTEM, "cat " + path("out") + " > " + path("seen"));
    std::uint32_t cut =
        s.clause({{DTRACEACT_LIBACT, 0, nullptr, "", 1, DT_LIBACT_FTRUNCATE}});
    s.consumer().display().quiet = true;
    s.record(print, bytes_of<std::int32_t>(1), 1);
    s.record(run, "", 2);
    s.record(print, bytes_of<std::int32_t>(2), 3);
    s.record(cut, "", 4);
    s.record(print, bytes_of<std::int32_t>(3), 5);
    std::FILE* file = std::fopen(path("out").c_str(), "a");
    FileOutput out(file);
    PrintAll print_all;
    EXPECT_TRUE(s.consumer().drain(DrainKind::Final, out, print_all));
    EXPECT_TRUE(out.flush());
    std::fclose(file);
    EXPECT_EQ(content(path("seen")), "x1\n");
    EXPECT_EQ(content(path("out")), "x3\n");
}

TEST_F(Files, AFullDiskEndsTheDrainWithAnError)
{
    Session s;
    std::uint32_t print = s.printf("%1000d", {s.types.lookup("int")});
    for (int i = 0; i < 100; i++)
        s.record(print, bytes_of<std::int32_t>(i), static_cast<std::uint64_t>(i));
    std::FILE* file = std::fopen("/dev/full", "w");
    FileOutput out(file);
    PrintAll print_all;
    auto drained = s.consumer().drain(DrainKind::Final, out, print_all);
    ASSERT_FALSE(drained);
    EXPECT_EQ(drained.error().sys, ENOSPC);
    std::fclose(file);
}

TEST(Sinks, AreCalledForEachActionAndAtTheEnd)
{
    Session s;
    std::uint32_t epid = s.clause({{DTRACEACT_DIFEXPR, 4, s.types.lookup("int")},
                                   {DTRACEACT_EXIT, 4, s.types.lookup("int")}});
    s.consumer().display().quiet = true;
    auto run = [&](Asking& sink) {
        s.record(epid, bytes_of<std::int32_t>(5) + bytes_of<std::int32_t>(1));
        StringOutput out;
        auto drained = s.consumer().drain(DrainKind::Final, out, sink);
        return std::pair{static_cast<bool>(drained), out.taken};
    };
    Asking all;
    EXPECT_EQ(run(all), (std::pair{true, std::string("5")}));
    EXPECT_EQ(all.actions,
              (std::vector<std::uint32_t>{DTRACEACT_DIFEXPR, DTRACEACT_EXIT}));
    EXPECT_EQ(all.ends, 1);
    Asking skip;
    skip.on_record = Verdict::Next;
    EXPECT_EQ(run(skip), (std::pair{true, std::string()}));
    EXPECT_EQ(skip.actions.size(), 2u);
    Asking none;
    none.on_probe = Verdict::Next;
    EXPECT_EQ(run(none), (std::pair{true, std::string()}));
    EXPECT_TRUE(none.actions.empty());
    Asking abort;
    abort.on_record = Verdict::Abort;
    EXPECT_FALSE(run(abort).first);
}

TEST(Handlers, GetAPiecePerConversionWithItsKind)
{
    Session s;
    const Type* number = s.types.lookup("int");
    std::uint32_t print = s.printf("a%db%dc", {number, number});
    Entry key{DTRACEACT_DIFEXPR, 4, number};
    key.in_key = true;
    key.ntuple = 0;
    Entry count{DTRACEAGG_count};
    count.uarg = 1;
    std::uint32_t feed = s.clause({key, count});
    std::uint32_t show = s.clause({{DTRACEACT_PRINTA, 8, nullptr, "%d=%@d\n"}});
    s.consumer().display().quiet = true;
    s.record(print, bytes_of<std::int32_t>(1) + bytes_of<std::int32_t>(2), 1);
    s.aggregate(feed, bytes_of<std::int32_t>(7), words(9));
    s.record(show, words(1), 2);
    std::vector<std::pair<std::string, std::uint32_t>> pieces;
    HandlerOutput out([&](std::string_view text, const Piece& piece) {
        pieces.emplace_back(text, piece.flags);
        return true;
    });
    Asking sink;
    EXPECT_TRUE(s.consumer().drain(DrainKind::Final, out, sink));
    EXPECT_EQ(pieces, (std::vector<std::pair<std::string, std::uint32_t>>{
                          {"a1", 0},
                          {"b2", 0},
                          {"c", 0},
                          {"7", piece_agg_format | piece_agg_key},
                          {"=9", piece_agg_format | piece_agg_value},
                          {"\n", piece_agg_format | piece_agg_last}}));
}

TEST(Handlers, CanEndTheConsumption)
{
    Session s;
    std::uint32_t print = s.printf("a", {});
    s.record(print, "");
    HandlerOutput out([](std::string_view, const Piece&) { return false; });
    Asking sink;
    EXPECT_FALSE(s.consumer().drain(DrainKind::Final, out, sink));
}

TEST(Sinks, AreAskedInTheFormsForProgramsToo)
{
    Session s;
    std::uint32_t two = s.clause({{DTRACEACT_DIFEXPR, 4, s.types.lookup("int")},
                                  {DTRACEACT_DIFEXPR, 4, s.types.lookup("int")}});
    s.consumer().display().form = OutputForm::json;
    auto drained = [&](Asking& asking, std::uint64_t time) {
        s.record(two, bytes_of<std::int32_t>(1) + bytes_of<std::int32_t>(2), time);
        StringOutput out;
        EXPECT_TRUE(s.consumer().drain(DrainKind::Final, out, asking));
        return out.taken;
    };
    Asking all;
    std::string text = drained(all, 1);
    EXPECT_NE(text.find("\"value\":1"), std::string::npos) << text;
    EXPECT_NE(text.find("\"value\":2"), std::string::npos) << text;
    EXPECT_EQ(all.actions.size(), 2u);
    EXPECT_EQ(all.ends, 1);

    Asking none;
    none.on_record = Verdict::Next;
    text = drained(none, 2);
    EXPECT_NE(text.find("\"values\":[]"), std::string::npos) << text;

    Asking skips;
    skips.on_probe = Verdict::Next;
    EXPECT_EQ(drained(skips, 3), "");
    EXPECT_EQ(skips.ends, 0);

    Asking ends;
    ends.on_record = Verdict::Abort;
    s.record(two, bytes_of<std::int32_t>(1) + bytes_of<std::int32_t>(2), 4);
    StringOutput out;
    EXPECT_FALSE(s.consumer().drain(DrainKind::Final, out, ends));
}
