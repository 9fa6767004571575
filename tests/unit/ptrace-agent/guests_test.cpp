// SPDX-License-Identifier: MIT
// Tests what the session of a user can do at a confined agent of root. The counts of
// such a session are tested by tests/system/test_sessions.py.
#include "ptrace-agent/hold/guests.hpp"

#include "base/clock_ns.hpp"
#include "process/proc_files.hpp"
#include "process/trust_domain.hpp"
#include "ptrace-agent/wire/client.hpp"
#include "ptrace-agent/wire/door.hpp"

#include <csignal>
#include <functional>
#include <grp.h>
#include <gtest/gtest.h>
#include <optional>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dt;
using namespace dt::agent;

#ifndef __SANITIZE_ADDRESS__ // a build with the sanitizer does not confine agents

namespace {

constexpr uid_t user = 65534;

// Runs a function in a process of the user, and returns the process.
pid_t start_as_user(const std::function<int()>& action)
{
    const pid_t pid = ::fork();
    if (pid != 0)
        return pid;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::setgroups(0, nullptr) != 0 || ::setresgid(user, user, user) != 0 ||
        ::setresuid(user, user, user) != 0)
        ::_exit(99);
    ::_exit(action());
}

// A process of the user that waits until it is killed.
class Waiting {
public:
    explicit Waiting(int dumpable)
        : pid_(start_as_user([dumpable] {
              ::prctl(PR_SET_DUMPABLE, dumpable);
              ::prctl(PR_SET_NAME, "waiting");
              for (;;)
                  ::pause();
              return 0;
          }))
    {
        while (status_field(read_proc_file(pid_, "status"), "Name") != "waiting")
            ::usleep(1000);
    }
    ~Waiting()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;
    pid_t pid() const { return pid_; }
    bool lives() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

private:
    pid_t pid_;
};

class Guests : public testing::Test {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, because only agents of root are confined";
        traced_.emplace(1);
        secret_.emplace(0);
        free_.emplace(1);
        auto started = AgentClient::start();
        ASSERT_TRUE(started) << started.error().text;
        root_.emplace(std::move(*started));
        const auto domain = trust_domain_of(traced_->pid());
        ASSERT_TRUE(domain);
        MessageWriter out;
        put_domain(out, *domain);
        auto confined = root_->confine(out.body());
        ASSERT_TRUE(confined) << confined.error().text;
        ASSERT_TRUE(root_->grab(traced_->pid()));
        ASSERT_TRUE(root_->grab(secret_->pid()));
    }

    // Runs a function in a process of the user that has a session at the agent. Returns
    // the function's result.
    int run(const std::function<int(AgentClient&)>& action) const
    {
        const pid_t agent = root_->agent_pid();
        const pid_t pid = start_as_user([&] {
            auto joined = AgentClient::join(agent, true);
            return joined ? action(*joined) : 98;
        });
        int status = 0;
        ::waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    // `traced_` and `secret_` are targets of root's session. `secret_` is not dumpable.
    std::optional<Waiting> traced_, secret_, free_;
    std::optional<AgentClient> root_;
};

template <class T> bool failed(const Result<T>& result, Code code)
{
    return !result && result.error().code == code;
}

} // namespace

TEST_F(Guests, CanTraceOnlyTargetsThatTheUserCouldTrace)
{
    EXPECT_EQ(run([&](AgentClient& guest) {
                  if (!guest.grab(traced_->pid()))
                      return 1;
                  if (!failed(guest.grab(secret_->pid()), Code::permission))
                      return 2;
                  for (const pid_t pid : {free_->pid(), ::getppid(), ::getpid(), 1})
                      if (!failed(guest.grab(pid), Code::gone))
                          return 3;
                  if (!failed(guest.plant(secret_->pid(), {}), Code::gone) ||
                      !failed(guest.detach(secret_->pid()), Code::gone))
                      return 4;
                  return guest.detach(traced_->pid()) ? 0 : 5;
              }),
              0);
    EXPECT_TRUE(root_->detach(traced_->pid())); // still a target of root's session
}

TEST_F(Guests, CannotStartOrKillProcesses)
{
    EXPECT_EQ(run([&](AgentClient& guest) {
                  if (!guest.grab(traced_->pid()) ||
                      !failed(guest.kill(traced_->pid()), Code::permission))
                      return 1;
                  if (!failed(guest.create({"/bin/true"}, {}, EvalTime::exec),
                              Code::permission))
                      return 2;
                  if (!failed(guest.put_back(traced_->pid(), {}), Code::permission))
                      return 3;
                  return failed(guest.confine({}), Code::permission) ? 0 : 4;
              }),
              0);
    EXPECT_TRUE(traced_->lives());
    EXPECT_TRUE(root_->detach(traced_->pid()));
}

TEST_F(Guests, HaveLimits)
{
    EXPECT_EQ(run([&](AgentClient& guest) {
                  if (!guest.grab(traced_->pid()))
                      return 1;
                  const std::vector<Site> sites(max_guest_sites + 1);
                  if (!failed(guest.plant(traced_->pid(), sites), Code::limit))
                      return 2;
                  const std::vector<ProfileTimer> timers(max_guest_timers + 1,
                                                         {1, 0, 1'000'000});
                  return failed(guest.profile(timers), Code::limit) ? 0 : 3;
              }),
              0);
    EXPECT_TRUE(root_->detach(traced_->pid()));
}

TEST_F(Guests, AreDisconnectedIfTheyAnnounceALongRequest)
{
    EXPECT_EQ(run([&](AgentClient& guest) {
                  auto opened = knock(guest.agent_pid());
                  if (!opened)
                      return 1;
                  const Header header{request_expect, max_guest_bytes, 0};
                  ::send(opened->socket.get(), &header, sizeof header, MSG_NOSIGNAL);
                  // The agent says goodbye and closes the socket.
                  const std::uint64_t ends = monotonic_ns() + 10'000'000'000;
                  char bytes[64];
                  while (monotonic_ns() < ends) {
                      pollfd end{opened->socket.get(), POLLIN, 0};
                      if (::poll(&end, 1, 100) == 1 &&
                          ::recv(end.fd, bytes, sizeof bytes, MSG_DONTWAIT) == 0)
                          return 0;
                  }
                  return 2;
              }),
              0);
}

TEST_F(Guests, HaveAMaximumNumber)
{
    EXPECT_EQ(run([&](AgentClient& guest) {
                  std::vector<AgentClient> others;
                  for (std::size_t n = 1; n < max_guests; n++) {
                      auto joined = AgentClient::join(guest.agent_pid(), true);
                      if (!joined || !joined->grab(traced_->pid()))
                          return 1;
                      others.push_back(std::move(*joined));
                  }
                  auto joined = AgentClient::join(guest.agent_pid(), true);
                  if (joined && joined->grab(traced_->pid()))
                      return 2;
                  return guest.grab(traced_->pid()) ? 0 : 3;
              }),
              0);
    auto second = AgentClient::join(root_->agent_pid(), true);
    ASSERT_TRUE(second);
    EXPECT_TRUE(second->grab(traced_->pid())); // the limit does not apply to root
}

#endif
