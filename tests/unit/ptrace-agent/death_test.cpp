// SPDX-License-Identifier: MIT
// Tests that targets are unharmed if the consumer, the agent or another target dies.
#include "session.hpp"

#include "process/proc_files.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::test;

static bool wait_until_free(pid_t pid)
{
    for (int i = 0; i < 500; ++i) {
        if (!is_traced(pid))
            return true;
        usleep(10000);
    }
    return false;
}

// Returns whether a process executes this program. No other test uses the same path.
static bool is_running(const std::string& program)
{
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        pid_t pid = std::atoi(entry.path().filename().c_str());
        if (pid > 0 && read_proc_link(pid, "exe").rfind(program, 0) == 0 &&
            thread_state(pid, pid) != 'Z')
            return true;
    }
    return false;
}

// Waits for all children except `but`. Agents of killed consumers are children of this
// process, because it is a subreaper. Returns false after 5 s, or if a signal killed a
// child.
static bool wait_for_orphans(pid_t but)
{
    auto is_orphan = [but](pid_t pid) {
        return pid > 0 && pid != but &&
               status_number(read_proc_file(pid, "status"), "PPid") ==
                   static_cast<std::uint64_t>(getpid());
    };
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        pid_t pid = std::atoi(entry.path().filename().c_str());
        if (!is_orphan(pid))
            continue;
        int tries = 500, status = 0;
        while (waitpid(pid, &status, WNOHANG) == 0 && --tries > 0)
            usleep(10000);
        if (tries == 0 || WIFSIGNALED(status))
            return false;
    }
    return true;
}

// Traces the target from a consumer process, and kills the consumer after `after_us`
// microseconds. Waits for the consumer's agent. Returns false if the agent does not
// exit.
static bool trace_and_die(pid_t target, useconds_t after_us)
{
    pid_t consumer = fork();
    if (consumer == 0) {
        Session session;
        if (!session.agent().grab(target))
            _exit(1);
        for (;;) {
            session.plant_return(target, "work", 2);
            session.plant_entry(target, "work", 1);
            auto functions = functions_of(target, "/waiter");
            Site site;
            site.at = functions["work"].at;
            site.probe = 1;
            usleep(3000);
            (void)session.agent().remove(target, std::span(&site, 1));
        }
    }
    usleep(after_us);
    ::kill(consumer, SIGKILL);
    waitpid(consumer, nullptr, 0);
    return wait_for_orphans(target);
}

TEST(Death, OfTheConsumerAtAnyMomentDoesNotHarmTheTarget)
{
    FreeVictim target({victim("waiter"), "4"});
    target.read_line();
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    unsigned seed = static_cast<unsigned>(getpid());
    for (int round = 0; round < 20; ++round) {
        auto after = static_cast<useconds_t>(rand_r(&seed) % 60000);
        ASSERT_TRUE(trace_and_die(target.pid(), after)) << after << " us";
        ASSERT_FALSE(is_traced(target.pid())) << "killed after " << after << " us";
        ASSERT_EQ(text_difference(target.pid()), "") << after;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    EXPECT_EQ(target.finish(), 0);
    EXPECT_GT(number_after(target.rest, "calls"), 0);
}

// The consumer requests an attach while the agent is stopped (SIGSTOP). The agent
// continues after the consumer has been killed.
TEST(Death, OfTheConsumerDuringAnAttachDoesNotEndTheAgentBySignal)
{
    FreeVictim target({victim("waiter"), "2"});
    target.read_line();
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t consumer = fork();
    if (consumer == 0) {
        Session session;
        pid_t agent = session.agent().agent_pid();
        ::kill(agent, SIGSTOP);
        (void)!write(ends[1], &agent, sizeof agent);
        (void)session.agent().grab(target.pid());
        _exit(1);
    }
    pid_t agent = 0;
    ASSERT_EQ(read(ends[0], &agent, sizeof agent), static_cast<ssize_t>(sizeof agent));
    close(ends[0]);
    close(ends[1]);
    // The consumer sleeps while it waits for the reply.
    EXPECT_TRUE(wait_until([&] { return thread_state(consumer, consumer) == 'S'; }));
    ::kill(consumer, SIGKILL);
    waitpid(consumer, nullptr, 0);
    ::kill(agent, SIGCONT);
    EXPECT_TRUE(wait_for_orphans(target.pid()));
    prctl(PR_SET_CHILD_SUBREAPER, 0);
    EXPECT_FALSE(is_traced(target.pid()));
    EXPECT_EQ(text_difference(target.pid()), "");
    EXPECT_EQ(target.finish(), 0);
}

TEST(Death, OfTheConsumerLetsItsCommandContinue)
{
    int output[2];
    ASSERT_EQ(pipe(output), 0);
    pid_t consumer = fork();
    if (consumer == 0) {
        close(output[0]);
        dup2(output[1], 1);
        auto agent = AgentClient::start();
        auto target = agent->create({victim("alarms"), "3000"}, {}, EvalTime::postinit);
        Site site;
        site.at = functions_of(target->pid, "/alarms")["work"].at;
        (void)agent->plant(target->pid, std::span(&site, 1));
        (void)agent->resume(target->pid);
        usleep(10000);
        ::kill(getpid(), SIGKILL);
    }
    close(output[1]);
    std::string text;
    char buffer[512];
    ssize_t n;
    while ((n = read(output[0], buffer, sizeof buffer)) > 0)
        text.append(buffer, static_cast<std::size_t>(n));
    close(output[0]);
    waitpid(consumer, nullptr, 0);
    EXPECT_EQ(number_after(text, "calls"), 3000) << text;
}

static volatile sig_atomic_t hung_up;

TEST(Death, OfACommandOrTheAgentSendsNoSighup)
{
    // The leader of a session traces a command while another process of its group is
    // stopped. If the group becomes orphaned, the kernel sends SIGHUP.
    pid_t leader = fork();
    if (leader == 0) {
        setsid();
        std::signal(SIGHUP, [](int) { hung_up = 1; });
        pid_t stopped = fork();
        if (stopped == 0) {
            ::raise(SIGSTOP);
            _exit(0);
        }
        int status = 0;
        waitpid(stopped, &status, WUNTRACED);
        // The first command exits before the agent, and the second one after it.
        pid_t command = 0;
        {
            auto agent = AgentClient::start();
            auto brief = agent->create({"/bin/true"}, {}, EvalTime::postinit);
            auto target = agent->create({"/bin/sleep", "60"}, {}, EvalTime::postinit);
            command = target->pid;
            (void)agent->resume(brief->pid);
            usleep(50000); // During this time, the first command exits.
            (void)agent->resume(command);
        }
        usleep(50000); // During this time, the agent exits.
        ::kill(command, SIGKILL);
        ::kill(stopped, SIGKILL);
        _exit(hung_up);
    }
    int status = 0;
    waitpid(leader, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << "the process received SIGHUP";
}

TEST(Death, OfTheConsumerKillsACommandThatIsStillHeld)
{
    int report[2];
    ASSERT_EQ(pipe(report), 0);
    pid_t consumer = fork();
    if (consumer == 0) {
        auto agent = AgentClient::start();
        auto target = agent->create({victim("spin")}, {}, EvalTime::exec);
        pid_t pid = target ? target->pid : 0;
        (void)!write(report[1], &pid, sizeof pid);
        ::kill(getpid(), SIGKILL);
    }
    pid_t pid = 0;
    ASSERT_EQ(read(report[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    waitpid(consumer, nullptr, 0);
    ASSERT_GT(pid, 0);
    for (int i = 0; i < 300 && is_traced(pid); ++i)
        usleep(10000);
    EXPECT_FALSE(is_traced(pid));
    close(report[0]);
    close(report[1]);
}

TEST(Death, OfTheAgentBySigtermDetachesFromTheTargetAndIsReported)
{
    FreeVictim target({victim("waiter"), "4"});
    target.read_line();
    Session session;
    ASSERT_TRUE(session.agent().grab(target.pid()));
    session.plant_entry(target.pid(), "work", 1);
    ::kill(session.agent().agent_pid(), SIGTERM);
    auto event = session.event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, AgentEvent::agent_gone);
    EXPECT_TRUE(wait_until_free(target.pid()));
    EXPECT_EQ(text_difference(target.pid()), "");
    EXPECT_EQ(target.finish(), 0);
}

TEST(Death, OfTheTargetAtAnyStepIsReportedAndDoesNotHarmTheAgent)
{
    Session session;
    unsigned seed = static_cast<unsigned>(getpid());
    for (int round = 0; round < 20; ++round) {
        FreeVictim target({victim("waiter"), "8"});
        target.read_line();
        pid_t killer = fork();
        if (killer == 0) {
            usleep(static_cast<useconds_t>(rand_r(&seed) % 8000));
            ::kill(target.pid(), SIGKILL);
            _exit(0);
        }
        rand_r(&seed);
        if (session.agent().grab(target.pid())) {
            auto functions = functions_of(target.pid(), "/waiter");
            auto sites = return_sites(functions["work"], 1);
            for (int i = 0; i < 1000; ++i) {
                auto planted = session.agent().plant(target.pid(), sites);
                if (!planted) {
                    EXPECT_EQ(planted.error().code, Code::gone);
                    break;
                }
                (void)session.agent().remove(target.pid(), sites);
            }
        }
        waitpid(killer, nullptr, 0);
    }
    pid_t pid = session.create({victim("spin"), "10", "1"});
    while (session.event(10)) {
    }
    session.plant_entry(pid, "work", 5);
    EXPECT_EQ(session.run_to_end(pid), 0);
    EXPECT_EQ(session.hits(5), 10u);
}

TEST(Death, OfAForkingTargetLeavesNoChildStopped)
{
    Session session;
    const std::string forker =
        ::testing::TempDir() + "forker-" + std::to_string(getpid());
    std::filesystem::copy_file(victim("forker"), forker);
    unsigned seed = static_cast<unsigned>(getpid());
    int n_children = 0;
    for (int round = 0; round < 20; ++round) {
        pid_t pid = session.create({forker, "100000"});
        session.plant_entry(pid, "work", 1);
        ASSERT_TRUE(session.agent().resume(pid));
        usleep(static_cast<useconds_t>(2000 + rand_r(&seed) % 8000));
        ::kill(pid, SIGKILL);
        while (auto event = session.event()) {
            if (event->kind == AgentEvent::exited)
                break;
            ++n_children;
        }
    }
    EXPECT_GT(n_children, 0);
    for (int i = 0; i < 200 && is_running(forker); ++i)
        usleep(10000);
    EXPECT_FALSE(is_running(forker));
    std::filesystem::remove(forker);
}
