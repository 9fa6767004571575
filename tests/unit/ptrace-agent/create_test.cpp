// SPDX-License-Identifier: MIT
// Tests commands that the agent starts: where they are held, and how often their probes
// fire.
#include "session.hpp"

#include "fasttrap/arch/arch.hpp"
#include "process/maps.hpp"

#include <algorithm>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::test;

TEST(Create, CountsEveryCallOfAFunctionExactly)
{
    Session session;
    pid_t pid = session.create({victim("spin"), "1000", "1"});
    session.plant_entry(pid, "work", 1);
    session.plant_return(pid, "work", 2);
    int status = session.run_to_end(pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(session.printed("calls"), 1000);
    EXPECT_EQ(session.hits(1), 1000u);
    EXPECT_EQ(session.hits(2), 1000u);
}

TEST(Create, CountsExactlyWithFiftyThreads)
{
    Session session;
    pid_t pid = session.create({victim("spin"), "200", "50"});
    session.plant_entry(pid, "work", 1);
    session.plant_return(pid, "outer", 2);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.printed("calls"), 10000);
    EXPECT_EQ(session.hits(1), 10000u);
    EXPECT_EQ(session.hits(2), 10000u);
}

TEST(Create, DoesNotChangeTheOutputOfAProbedCommand)
{
    Session plain, probed;
    pid_t one = plain.create({victim("spin"), "500", "3"});
    EXPECT_EQ(plain.run_to_end(one), 0);
    pid_t other = probed.create({victim("spin"), "500", "3"});
    std::uint32_t probe = 1;
    for (const char* name : {"work", "outer", "ten", "run", "main"}) {
        probed.plant_entry(other, name, probe++);
        probed.plant_return(other, name, probe++);
    }
    EXPECT_EQ(probed.run_to_end(other), 0);
    EXPECT_EQ(plain.output(), probed.output());
    EXPECT_EQ(probed.hits(1), 1500u);
}

TEST(Create, ProbesEveryInstructionOfAFunction)
{
    Session plain, session;
    EXPECT_EQ(plain.run_to_end(plain.create({victim("spin"), "300", "2"})), 0);
    pid_t pid = session.create({victim("spin"), "300", "2"});
    Function work = functions_of(pid, "/spin")["work"];
    auto text = text_at(pid, work.at, work.bytes);
    std::vector<Site> sites;
    for (std::size_t at = 0; at < text.size();) {
        auto insn = x86_64.decode(std::span(text).subspan(at), work.at + at);
        ASSERT_TRUE(insn);
        Site site;
        site.at = work.at + at;
        site.kind = SiteKind::offset;
        site.probe = static_cast<std::uint32_t>(100 + at);
        sites.push_back(site);
        at += insn->length;
    }
    session.plant(pid, sites);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.output(), plain.output());
    EXPECT_EQ(session.hits(100), 600u);
}

TEST(Create, WorksOnAStaticProgram)
{
    Session session;
    pid_t pid = session.create({victim("static_spin"), "100", "2"});
    session.plant_entry(pid, "work", 1);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.hits(1), 200u);
}

static int stage_of(pid_t pid)
{
    auto functions = functions_of(pid, "/stages");
    auto bytes = text_at(pid, functions["stage"].at, 4);
    return bytes.empty() ? -1 : static_cast<int>(bytes[0]);
}

TEST(Create, HoldsTheCommandAtThePointThatEvaltimeSelects)
{
    Session session;
    pid_t at_exec = session.create({victim("stages")}, EvalTime::exec);
    EXPECT_EQ(stage_of(at_exec), 0);
    EXPECT_TRUE(functions_of(at_exec, "/libc.so.6").empty());
    EXPECT_EQ(WEXITSTATUS(session.run_to_end(at_exec)), 5);

    pid_t preinit = session.create({victim("stages")}, EvalTime::preinit);
    EXPECT_EQ(stage_of(preinit), 0);
    EXPECT_FALSE(functions_of(preinit, "/libc.so.6").empty());
    EXPECT_EQ(WEXITSTATUS(session.run_to_end(preinit)), 5);

    for (EvalTime time : {EvalTime::postinit, EvalTime::main}) {
        pid_t pid = session.create({victim("stages")}, time);
        EXPECT_EQ(stage_of(pid), 1);
        EXPECT_EQ(WEXITSTATUS(session.run_to_end(pid)), 5);
    }
    EXPECT_EQ(session.output().find("main saw stage 0"), std::string::npos);
}

TEST(Create, NamesTheCommandInTheErrorIfItDoesNotExist)
{
    Session session;
    auto target = session.agent().create({"no-such-command"}, {}, EvalTime::main);
    ASSERT_FALSE(target);
    EXPECT_EQ(target.error().code, Code::not_found);
    EXPECT_NE(target.error().text.find("no-such-command"), std::string::npos);
}

TEST(Create, ReportsAPermissionErrorForAFileThatIsNotExecutable)
{
    char path[] = "/tmp/not-executable-XXXXXX";
    int fd = mkstemp(path);
    fchmod(fd, 0644);
    close(fd);
    Session session;
    auto target = session.agent().create({path}, {}, EvalTime::main);
    unlink(path);
    ASSERT_FALSE(target);
    EXPECT_EQ(target.error().code, Code::permission);
}

TEST(Create, PassesTheChangedEnvironment)
{
    Session session;
    pid_t pid =
        session.create({"/bin/sh", "-c", "echo got-$ONE-${HOME-none}"},
                       EvalTime::postinit, {{"ONE", "1"}, {"HOME", std::nullopt}});
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.output(), "got-1-none\n");
}

TEST(Create, CanKillACommandThatIsStillHeld)
{
    Session session;
    pid_t pid = session.create({victim("spin")});
    EXPECT_TRUE(session.agent().kill(pid));
    for (int i = 0; i < 200 && ::kill(pid, 0) == 0; ++i)
        usleep(10000);
    EXPECT_NE(::kill(pid, 0), 0);
    EXPECT_EQ(session.output(), "");
}

TEST(Plant, WritesNothingWhereAnotherFileIsMappedThanTheClientFound)
{
    Session session;
    pid_t pid = session.create({victim("spin"), "10", "1"});
    auto functions = functions_of(pid, "/spin");
    Site work, outer;
    work.at = functions["work"].at;
    work.probe = 1;
    outer.at = functions["outer"].at;
    outer.probe = 2;
    std::vector<Mapping> mappings = mappings_of(pid);
    const Mapping* text = find_mapping(mappings, work.at);
    ASSERT_NE(text, nullptr);
    SeenText same{text->begin,      text->end,        text->offset,
                  text->file.major, text->file.minor, text->file.inode};
    SeenText other_file = same, other_part = same;
    ++other_file.inode;
    other_part.offset += 4096;
    const std::vector<Site> both{work, outer};
    const std::vector<std::uint32_t> all{0, 1};
    for (const SeenText& seen : {other_file, other_part}) {
        auto report = session.agent().plant(pid, both, Mechanism::automatic, {{seen}});
        ASSERT_TRUE(report);
        EXPECT_EQ(report->n_planted, 0u);
        EXPECT_EQ(report->gone, all);
    }
    // The client reports a mapping that begins at the second function. So the agent
    // plants only the site in that function.
    TargetAddr middle = std::max(work.at, outer.at);
    SeenText second = same;
    second.begin = middle;
    second.offset += middle - same.begin;
    auto report = session.agent().plant(pid, both, Mechanism::automatic, {{second}});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->n_planted, 1u);
    EXPECT_EQ(report->gone.size(), 1u);
    report = session.agent().plant(pid, both, Mechanism::automatic, {{same}});
    ASSERT_TRUE(report);
    EXPECT_EQ(report->n_planted, 2u);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.hits(1), 10u);
}

TEST(Plant, RefusesSitesThatCannotBeInstrumentedAndPlantsTheOthers)
{
    Session session;
    pid_t pid = session.create({victim("spin"), "10", "1"});
    auto functions = functions_of(pid, "/spin");
    Site good, other_text, unmapped;
    good.at = functions["work"].at;
    good.probe = 1;
    other_text = good;
    other_text.at = functions["outer"].at;
    other_text.n_expected = 2;
    other_text.expected = {std::byte{0x0f}, std::byte{0x0b}};
    unmapped.at = TargetAddr{0x10};
    std::vector<Site> sites{good, other_text, unmapped};
    auto report = session.agent().plant(pid, sites);
    ASSERT_TRUE(report);
    EXPECT_EQ(report->n_planted, 1u);
    ASSERT_EQ(report->refused.size(), 2u);
    EXPECT_EQ(report->refused[0].site, 1u);
    EXPECT_EQ(report->refused[0].reason,
              "the instructions in memory differ from those in the file");
    EXPECT_EQ(report->refused[1].site, 2u);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.hits(1), 10u);
}

// The reply to expect() may arrive before another reply, or at any other time.
TEST(Plant, IgnoresTheRepliesToExpectations)
{
    Session session;
    pid_t pid = session.create({victim("spin"), "10", "1"});
    Site site = entry_site(pid, "work", 1);
    session.agent().expect(20'000);
    usleep(200'000); // During this time, the reply arrives. It must not be an event.
    auto none = session.agent().next_event();
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    for (std::uint32_t i = 0; i < 3; ++i) {
        session.agent().expect(20'000);
        session.agent().expect(~std::size_t{0});
        auto report = session.agent().plant(pid, std::span(&site, 1));
        ASSERT_TRUE(report) << report.error().text;
        EXPECT_EQ(report->n_planted, 1u);
    }
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.hits(1), 10u);
}

TEST(Plant, SharesATracepointAndRestoresTheTextWithTheLastProbe)
{
    Session session;
    pid_t pid = session.create({victim("spin"), "10", "1"});
    Site one = entry_site(pid, "work", 1);
    Site two = one;
    two.probe = 2;
    two.kind = SiteKind::offset;
    session.plant(pid, {one, two});
    auto before = text_at(pid, one.at, 1);
    EXPECT_EQ(before[0], std::byte{0xcc});
    EXPECT_TRUE(session.agent().remove(pid, std::span(&one, 1)));
    EXPECT_EQ(text_at(pid, one.at, 1), before);
    EXPECT_TRUE(session.agent().remove(pid, std::span(&two, 1)));
    EXPECT_NE(text_at(pid, one.at, 1), before);
    session.plant(pid, {two});
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.hits(1), 0u);
    EXPECT_EQ(session.hits(2), 10u);
}

TEST(Plant, PlantsEntryProbesInAllFunctionsOfLibc)
{
    Session session;
    pid_t pid = session.create({victim("spin"), "50", "2"});
    std::vector<Site> sites;
    std::uint32_t probe = 10;
    for (auto& [name, function] : functions_of(pid, "/libc.so.6")) {
        Site site;
        site.at = function.at;
        site.probe = probe++ % max_probes;
        sites.push_back(site);
    }
    ASSERT_GT(sites.size(), 2000u);
    auto report = session.agent().plant(pid, sites);
    ASSERT_TRUE(report);
    EXPECT_GT(report->n_planted, 1500u);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.printed("calls"), 100);
}
