// SPDX-License-Identifier: MIT
// Tests targets that create processes and programs, and targets that throw exceptions.
#include "session.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>

using namespace dt;
using namespace dt::test;

TEST(Tasks, ForkedChildrenRunOriginalTextAndAreNotTraced)
{
    Session session;
    pid_t pid = session.create({victim("forker"), "40"});
    session.plant_return(pid, "work", 2);
    session.plant_entry(pid, "work", 1);
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    EXPECT_EQ(session.printed("good"), 40);
    EXPECT_EQ(session.hits(1), 40u);
    EXPECT_EQ(session.hits(2), 40u);
    std::size_t n_forks = 0;
    for (const AgentEvent& event : session.others)
        n_forks += event.kind == AgentEvent::forked && event.pid == pid;
    EXPECT_EQ(n_forks, 40u);
}

TEST(Tasks, ChildrenThatShareTheMemoryAlsoFire)
{
    Session session;
    pid_t pid = session.create({victim("vforker"), "30"});
    session.plant_return(pid, "work", 2);
    session.plant_entry(pid, "work", 1);
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    EXPECT_EQ(session.printed("good"), 90);
    // In each round, a vfork child, a clone with CLONE_VM and the parent each make a
    // call.
    EXPECT_EQ(session.printed("calls"), 90);
    EXPECT_EQ(session.hits(1), 90u);
    EXPECT_EQ(session.hits(2), 90u);
}

TEST(Tasks, PlantingWhileAVforkChildRunsDoesNotHang)
{
    Session session;
    pid_t pid = session.create({victim("vforker"), "200"});
    auto functions = functions_of(pid, "/vforker");
    Site site;
    site.at = functions["work"].at;
    site.probe = 1;
    ASSERT_TRUE(session.agent().resume(pid));
    for (int i = 0; i < 100; ++i) {
        auto planted = session.agent().plant(pid, std::span(&site, 1));
        if (!planted)
            break; // the process has ended
        (void)session.agent().remove(pid, std::span(&site, 1));
    }
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    EXPECT_EQ(session.printed("good"), 600);
}

TEST(Tasks, ExecFromAThreadRemovesAllProbesAndIsReported)
{
    Session session;
    pid_t pid = session.create({victim("execer"), "5"});
    session.plant_entry(pid, "work", 1);
    int status = session.run_to_end(pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
    EXPECT_EQ(session.output(), "done\n");
    EXPECT_GE(session.hits(1), 200u);
    std::size_t n_execs = 0;
    for (const AgentEvent& event : session.others)
        n_execs += event.kind == AgentEvent::execed;
    EXPECT_EQ(n_execs, 5u);
}

// dtrace may find a child in /proc before it reads the event about the fork. It must not
// take the child's probes for those of a dead tracer.
TEST(Tasks, GrabTellsThatAChildIsAlreadyTraced)
{
    Session session;
    const pid_t pid = session.create(
        {"/bin/sh", "-c", "(while :; do :; done) & while :; do :; done"});
    session.plant_entry(pid, "_exit", 1, "/libc.so.6");
    ASSERT_TRUE(session.agent().follow(pid, Follow::all));
    ASSERT_TRUE(session.agent().resume(pid));
    const auto event = session.event();
    ASSERT_TRUE(event && event->kind == AgentEvent::forked && event->status == 1);

    const auto child = session.agent().grab(event->child);
    const pid_t untraced = ::fork();
    if (untraced == 0)
        for (;;)
            ::pause();
    const auto stranger = session.agent().grab(untraced);
    for (pid_t each : {pid, event->child, untraced})
        ::kill(each, SIGKILL);
    ::waitpid(untraced, nullptr, 0);
    ASSERT_TRUE(child && stranger);
    EXPECT_EQ(child->traced_before, TracedBefore::for_session);
    EXPECT_EQ(stranger->traced_before, TracedBefore::no);
}

// The shell executes another program. After that, the agent deletes its data about the
// shell. The probes of the second program must stay.
TEST(Tasks, ProbesOfTheProgramAfterAnExecAreKeptWhenDataOfTheFirstIsDeleted)
{
    Session session;
    std::filesystem::path begin = std::filesystem::path(testing::TempDir()) /
                                  ("spawner-begins-" + std::to_string(getpid()));
    pid_t pid = session.create(
        {"/bin/sh", "-c",
         "/bin/true; /bin/true; exec " + victim("spawner") + " 20 " + begin.string()});
    ASSERT_TRUE(session.agent().resume(pid));
    auto event = session.event();
    while (event && event->kind != AgentEvent::execed)
        event = session.event();
    ASSERT_TRUE(event);
    Site site = entry_site(pid, "work", 1, "/spawner");
    auto planted = session.agent().plant(pid, std::span(&site, 1));
    ASSERT_TRUE(planted) << planted.error().text;
    EXPECT_EQ(planted->n_planted, 1u);
    std::ofstream(begin) << "now\n";
    EXPECT_EQ(session.run_to_end(pid), 0) << session.output();
    std::filesystem::remove(begin);
    EXPECT_EQ(session.output(), "calls 60 spawned 20 vforked 20 opened 20\n");
    EXPECT_EQ(session.hits(1), 60u);
}

// The move constructor of AgentClient must copy the count of execs. The agent compares
// this count with its own count.
TEST(Tasks, AClientThatIsMovedAfterAnExecCanPlant)
{
    Session session;
    pid_t pid = session.create(
        {"/bin/sh", "-c", "exec " + victim("spawner") + " 1 /nonexistent/begin"});
    ASSERT_TRUE(session.agent().resume(pid));
    auto event = session.event();
    while (event && event->kind != AgentEvent::execed)
        event = session.event();
    ASSERT_TRUE(event);
    Site site = entry_site(pid, "work", 1, "/spawner");
    session.agent().expect(1);

    AgentClient moved = session.release_agent();
    auto planted = moved.plant(pid, std::span(&site, 1));
    ::kill(pid, SIGKILL);
    ASSERT_TRUE(planted) << planted.error().text;
    EXPECT_EQ(planted->n_planted, 1u);
}

TEST(Tasks, ExceptionsPassThroughProbedFrames)
{
    Session session;
    pid_t pid = session.create({victim("thrower"), "300"});
    for (const char* name : {"_Z4workl", "_Z6middlel"}) {
        std::uint32_t probe = name[2] == '4' ? 1 : 3;
        session.plant_return(pid, name, probe + 1);
        session.plant_entry(pid, name, probe);
    }
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.printed("calls"), 300);
    EXPECT_EQ(session.printed("caught"), 100);
    EXPECT_EQ(session.hits(1), 300u);
    EXPECT_EQ(session.hits(2), 200u);
    EXPECT_EQ(session.hits(3), 300u);
    EXPECT_EQ(session.hits(4), 200u);
}

TEST(Tasks, ShellPipelinesOfManyProcessesGiveTheSameOutput)
{
    Session plain, probed;
    std::vector<std::string> argv{"/bin/sh", "-c",
                                  "i=0; while [ $i -lt 20 ]; do "
                                  "echo $i | sed s/1/one/ | tr o 0; "
                                  "i=$((i+1)); done; echo $(ls / | wc -l) > /dev/null"};
    EXPECT_EQ(plain.run_to_end(plain.create(argv)), 0);
    pid_t pid = probed.create(argv);
    std::vector<Site> sites;
    std::uint32_t probe = 10;
    for (auto& [name, function] : functions_of(pid, "/libc.so.6")) {
        Site site;
        site.at = function.at;
        site.probe = probe++ % max_probes;
        sites.push_back(site);
    }
    ASSERT_TRUE(probed.agent().plant(pid, sites));
    EXPECT_EQ(probed.run_to_end(pid), 0);
    EXPECT_EQ(probed.output(), plain.output());
}
