// SPDX-License-Identifier: MIT
// Tests what a confined agent can and cannot do. The tests act as an agent that an
// attacker has taken over.
#include "ptrace-agent/confine/confinement.hpp"

#include "base/fd.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"
#include "ptrace-agent/hold/seize.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "session.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <grp.h>
#include <gtest/gtest.h>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dt;
using namespace dt::agent;

#ifndef __SANITIZE_ADDRESS__ // the sanitizer makes system calls that the filter refuses

namespace {

constexpr uid_t covered_user = 65534, other_user = 65533;

// A process of a user. It ends when the object is destroyed.
class Sleeper {
public:
    explicit Sleeper(uid_t user) : pid_(::fork())
    {
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            (void)!::setgroups(0, nullptr);
            if (::setresgid(user, user, user) != 0 ||
                ::setresuid(user, user, user) != 0)
                ::_exit(1);
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                ::pause();
        }
        while (status_number(read_proc_file(pid_, "status"), "Uid", 1) != user)
            ::usleep(1000);
    }
    ~Sleeper()
    {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    pid_t pid() const { return pid_; }

private:
    pid_t pid_;
};

class ConfinedAgent : public testing::Test {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, because only root has rights to give up";
        mine_.emplace(covered_user);
        other_.emplace(other_user);
    }

    // Runs the action in an agent that is confined to the domain of `mine_`. Returns the
    // action's result, or -1 if it did not return.
    int run(const std::function<int()>& action) const
    {
        const pid_t pid = ::fork();
        if (pid == 0) {
            const auto domain = trust_domain_of(mine_->pid());
            ::_exit(domain && confine(*domain) ? action() : 99);
        }
        int status = 0;
        ::waitpid(pid, &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

    std::optional<Sleeper> mine_, other_;
};

using SystemCall = std::function<long()>;

// Returns the errno of a call, or 0 if it succeeded.
int error_of(const SystemCall& call)
{
    errno = 0;
    return call() < 0 ? errno : 0;
}

bool can_open(const std::string& path, int flags)
{
    return static_cast<bool>(Fd(::open(path.c_str(), flags | O_CLOEXEC)));
}

// Attaches to a process and waits until it has stopped.
bool seize_and_stop(pid_t pid)
{
    int status = 0;
    return seize(pid) == 0 && ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0 &&
           ::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

} // namespace

TEST_F(ConfinedAgent, HasItsOwnIdsAndNoCapabilities)
{
    EXPECT_EQ(run([] {
                  const std::string status = read_proc_file(::getpid(), "status");
                  for (int n = 0; n < 4; ++n)
                      for (const char* ids : {"Uid", "Gid"})
                          if (const auto id = status_number(status, ids, n);
                              id == 0 || id == covered_user)
                              return 1;
                  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapAmb"})
                      if (status_number(status, set, 0, 16) != 0)
                          return 2;
                  return status_number(status, "NoNewPrivs") == 1 &&
                                 status_number(status, "Seccomp") == 2
                             ? 0
                             : 3;
              }),
              0);
}

TEST_F(ConfinedAgent, TracesAProcessOfItsDomain)
{
    EXPECT_EQ(run([this] {
                  user_regs_struct regs{};
                  const pid_t pid = mine_->pid();
                  if (!seize_and_stop(pid) || !get_regs(pid, regs) || regs.rip == 0)
                      return 1;
                  Fd mem(::open(proc_path(pid, "mem").c_str(), O_RDWR | O_CLOEXEC));
                  std::uint64_t word = 0;
                  if (::pread(mem.get(), &word, sizeof word,
                              static_cast<off_t>(regs.rsp)) != sizeof word ||
                      ::pwrite(mem.get(), &word, sizeof word,
                               static_cast<off_t>(regs.rsp)) != sizeof word)
                      return 2;
                  if (!set_regs(pid, regs) || threads_of(pid).size() != 1 ||
                      thread_state(pid, pid) != 't')
                      return 3;
                  return ::ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0 ? 0 : 4;
              }),
              0);
}

TEST_F(ConfinedAgent, CannotAttachToOtherProcesses)
{
    EXPECT_EQ(
        run([this] {
            for (const pid_t pid : {pid_t{1}, ::getppid(), other_->pid(), tracer_pid()})
                if (seize(pid) == 0)
                    return 1;
            return error_of([this] {
                       return ::ptrace(PTRACE_ATTACH, mine_->pid(), nullptr, nullptr);
                   }) == EPERM
                       ? 0
                       : 2;
        }),
        0);
}

TEST_F(ConfinedAgent, CannotUseTheMemoryOfOtherProcesses)
{
    EXPECT_EQ(run([this] {
                  char byte = 0;
                  iovec here{&byte, 1}, there{&byte, 1};
                  for (const pid_t pid : {pid_t{1}, ::getppid(), other_->pid()}) {
                      for (const char* file : {"mem", "maps", "auxv", "pagemap", "stat",
                                               "environ", "cmdline", "exe"})
                          if (can_open(proc_path(pid, file), O_RDONLY))
                              return 1;
                      if (can_open(proc_path(pid, "mem"), O_RDWR) ||
                          !read_proc_link(pid, "exe").empty() ||
                          !read_proc_link(pid, "fd/0").empty() ||
                          share_memory(pid, pid).has_value())
                          return 2;
                      if (::process_vm_readv(pid, &here, 1, &there, 1, 0) >= 0 ||
                          ::process_vm_writev(pid, &here, 1, &there, 1, 0) >= 0)
                          return 3;
                  }
                  return 0;
              }),
              0);
}

TEST_F(ConfinedAgent, CannotOpenFiles)
{
    EXPECT_EQ(
        run([this] {
            const std::string mine = "/proc/" + std::to_string(mine_->pid());
            for (const std::string& path :
                 {std::string("/etc/passwd"), std::string("/etc/shadow"),
                  std::string("/proc/1/../../etc/passwd"), std::string("/dev/null"),
                  mine + "/root/etc/shadow", mine + "/cwd", mine + "/fd/0",
                  mine + "/map_files/../../../etc/shadow", mine + "/task/1/mem",
                  std::string("/proc/self/mem"), std::string("/proc/self/environ"),
                  std::string("/proc/sys/kernel/core_pattern"), std::string("/")})
                if (can_open(path, O_RDONLY) || can_open(path, O_PATH))
                    return 1;
            for (const char* file : {"/comm", "/status", "/oom_score_adj"})
                if (can_open(mine + file, O_WRONLY) || can_open(mine + file, O_RDWR))
                    return 2;
            return can_open("/tmp/made_by_agent", O_RDWR | O_CREAT) ? 3 : 0;
        }),
        0);
}

TEST_F(ConfinedAgent, CannotReadAFileThroughADescriptorThatIsNotReadable)
{
    const Fd handle(::open("/etc/shadow", O_PATH | O_CLOEXEC));
    const Fd writer(::open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    ASSERT_TRUE(handle && writer);
    EXPECT_EQ(
        run([&] {
            for (const Fd* each : {&handle, &writer})
                if (can_open("/proc/self/fd/" + std::to_string(each->get()), O_RDONLY))
                    return 1;
            return 0;
        }),
        0);
}

TEST_F(ConfinedAgent, CannotTakeDescriptorsOfOtherProcesses)
{
    EXPECT_EQ(run([this] {
                  for (const pid_t pid :
                       {pid_t{1}, ::getppid(), other_->pid(), tracer_pid()}) {
                      const Fd process(
                          static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
                      if (::syscall(SYS_pidfd_getfd, process.get(), 0, 0) >= 0)
                          return 1;
                  }
                  const Fd process(
                      static_cast<int>(::syscall(SYS_pidfd_open, mine_->pid(), 0)));
                  return ::syscall(SYS_pidfd_getfd, process.get(), 0, 0) >= 0 ? 0 : 2;
              }),
              0);
}

TEST_F(ConfinedAgent, CannotSendSignalsToOtherProcesses)
{
    EXPECT_EQ(
        run([this] {
            for (const pid_t pid : {pid_t{1}, ::getppid(), other_->pid(), tracer_pid()})
                if (::kill(pid, SIGCONT) == 0 ||
                    ::syscall(SYS_tgkill, pid, pid, SIGCONT) == 0)
                    return 1;
            for (const pid_t group : {pid_t{0}, pid_t{-1}, -::getppid()})
                if (::kill(group, SIGCONT) == 0)
                    return 2;
            return ::kill(mine_->pid(), SIGCONT) == 0 ? 0 : 3;
        }),
        0);
}

TEST_F(ConfinedAgent, CannotExecuteProgramsOrRegainRights)
{
    EXPECT_EQ(run([] {
                  std::array<char, 5> program{"/bin"};
                  const std::array<SystemCall, 12> calls{
                      [&] { return ::execl("/bin/true", "true", nullptr); },
                      [] { return long{::fork()}; },
                      [] { return ::syscall(SYS_vfork); },
                      [] { return long{::setuid(0)}; },
                      [] { return long{::setresgid(0, 0, 0)}; },
                      [] { return long{::unshare(CLONE_NEWUSER)}; },
                      [] { return long{::socket(AF_INET, SOCK_STREAM, 0)}; },
                      [] { return long{::chdir("/")}; },
                      [] { return long{::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)}; },
                      [&] { return long{::unlink(program.data())}; },
                      [] { return ::syscall(SYS_bpf, 0, nullptr, 0); },
                      [] {
                          return ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1,
                                        0) == MAP_FAILED
                                     ? -1L
                                     : 0L;
                      }};
                  for (std::size_t i = 0; i < calls.size(); ++i)
                      if (error_of(calls[i]) == 0)
                          return static_cast<int>(i) + 1;
                  return 0;
              }),
              0);
}

// The thread's stop must have been reported first, so that the broker knows whether the
// process has gained rights.
TEST_F(ConfinedAgent, CannotUseAThreadWhoseStopWasNotReported)
{
    EXPECT_EQ(run([this] {
                  const pid_t pid = mine_->pid();
                  user_regs_struct regs{};
                  if (seize(pid) != 0 ||
                      ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0)
                      return 1;
                  while (thread_state(pid, pid) != 't')
                      ::usleep(1000);
                  if (get_regs(pid, regs))
                      return 2;
                  int status = 0;
                  if (::waitpid(pid, &status, __WALL) != pid || !get_regs(pid, regs))
                      return 3;
                  return 0;
              }),
              0);
}

// The agent does not wait until the broker has made these changes.
TEST_F(ConfinedAgent, ChangesAStoppedThreadBeforeTheThreadIsResumed)
{
    EXPECT_EQ(run([this] {
                  constexpr std::uint64_t value = 0x1234567890;
                  const pid_t pid = mine_->pid();
                  user_regs_struct regs{};
                  if (!seize_and_stop(pid) || !get_regs(pid, regs))
                      return 1;
                  regs.r15 = value;
                  if (!set_regs(pid, regs) || !set_mask(pid, signal_bit(SIGUSR1)))
                      return 2;
                  std::uint64_t mask = 0;
                  regs.r15 = 0;
                  if (!get_regs(pid, regs) || regs.r15 != value ||
                      !get_mask(pid, mask) || mask != signal_bit(SIGUSR1))
                      return 3; // before the broker has made the changes
                  int status = 0;
                  if (!resume_thread(PTRACE_CONT, pid, 0) ||
                      ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0 ||
                      ::waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
                      return 4;
                  if (!get_regs(pid, regs) || regs.r15 != value ||
                      !get_mask(pid, mask) || mask != signal_bit(SIGUSR1))
                      return 5;
                  regs.cs = 1; // not a selector of user space
                  return set_regs(pid, regs) ? 6 : 0;
              }),
              0);
}

TEST_F(ConfinedAgent, WritesMemoryAfterEarlierChangesOfThreads)
{
    EXPECT_EQ(
        run([this] {
            const pid_t pid = mine_->pid();
            const Fd status(
                ::open(proc_path(pid, "status").c_str(), O_RDONLY | O_CLOEXEC));
            const Fd mem(::open(proc_path(pid, "mem").c_str(), O_RDWR));
            user_regs_struct regs{};
            if (!seize_and_stop(pid) || !get_regs(pid, regs))
                return 1;
            for (int signal = SIGUSR1; signal < SIGTERM; ++signal) {
                std::array<char, 4096> text{};
                const std::uint64_t word = 0;
                if (!set_mask(pid, signal_bit(signal)) ||
                    write_memory(mem.get(), &word, sizeof word, regs.rsp - 4096) !=
                        sizeof word ||
                    ::pread(status.get(), text.data(), text.size() - 1, 0) <= 0)
                    return 2;
                if (status_number(text.data(), "SigBlk", 0, 16) != signal_bit(signal))
                    return 3;
            }
            return 0;
        }),
        0);
}

// When a thread executes a program, it gets the id of the leader. If the leader was
// stopped, the agent must receive the report of the exec, although it has not yet taken
// the report of the leader's stop.
TEST_F(ConfinedAgent, ReceivesAnExecThatReplacesAReportedStop)
{
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd reader(ends[0]), writer(ends[1]);
    const pid_t target = ::fork();
    if (target == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)!::setgroups(0, nullptr);
        if (::setresgid(covered_user, covered_user, covered_user) != 0 ||
            ::setresuid(covered_user, covered_user, covered_user) != 0)
            ::_exit(1);
        std::thread([&] {
            char byte = 0;
            if (::read(reader.get(), &byte, 1) == 1)
                ::execl("/bin/sleep", "sleep", "1000", nullptr);
            ::_exit(1);
        }).detach();
        for (;;)
            ::pause();
    }
    while (status_number(read_proc_file(target, "status"), "Uid", 1) != covered_user ||
           threads_of(target).size() != 2)
        ::usleep(1000);
    EXPECT_EQ(run([&] {
                  for (const pid_t tid : threads_of(target))
                      if (seize(tid) != 0)
                          return 1;
                  siginfo_t report{};
                  if (::ptrace(PTRACE_INTERRUPT, target, nullptr, nullptr) != 0 ||
                      ::waitid(P_PID, static_cast<id_t>(target), &report,
                               WSTOPPED | WNOWAIT | __WALL) != 0 ||
                      report.si_pid != target)
                      return 2;
                  (void)!::write(writer.get(), "x", 1);
                  while (read_proc_file(target, "comm") != "sleep\n")
                      ::usleep(1000);
                  int status = 0;
                  for (int n = 0; n < 2; ++n) {
                      if (::waitpid(target, &status, __WALL) != target ||
                          !WIFSTOPPED(status))
                          return 3;
                      if (status >> 16 == PTRACE_EVENT_EXEC)
                          return 0;
                  }
                  return 4;
              }),
              0);
    ::kill(target, SIGKILL);
    ::waitpid(target, nullptr, 0);
}

TEST_F(ConfinedAgent, CannotBeKilledByTheUserOfItsTargets)
{
    const pid_t agent = ::fork();
    if (agent == 0) {
        const auto domain = trust_domain_of(mine_->pid());
        if (!domain || !confine(*domain))
            ::_exit(1);
        for (;;)
            ::poll(nullptr, 0, 1000);
    }
    while (status_number(read_proc_file(agent, "status"), "Seccomp") != 2)
        ::usleep(1000);
    const pid_t attacker = ::fork();
    if (attacker == 0) {
        if (::setgroups(0, nullptr) != 0 ||
            ::setresgid(covered_user, covered_user, covered_user) != 0 ||
            ::setresuid(covered_user, covered_user, covered_user) != 0)
            ::_exit(99);
        if (::kill(agent, SIGKILL) == 0 || ::kill(agent, SIGSTOP) == 0)
            ::_exit(1);
        if (::ptrace(PTRACE_SEIZE, agent, nullptr, nullptr) == 0)
            ::_exit(2);
        ::_exit(can_open(proc_path(agent, "mem"), O_RDONLY) ? 3 : 0);
    }
    int status = 0;
    ::waitpid(attacker, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
    ::kill(agent, SIGKILL);
    ::waitpid(agent, &status, 0);
}

TEST_F(ConfinedAgent, ExitsWhenItsBrokerIsKilled)
{
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd reader(ends[0]);
    Fd writer(ends[1]);
    const pid_t agent = ::fork();
    if (agent == 0) {
        const auto domain = trust_domain_of(mine_->pid());
        const auto broker = domain ? confine(*domain) : Result<pid_t>(pid_t{0});
        if (!broker || !seize_and_stop(mine_->pid()) ||
            ::ptrace(PTRACE_CONT, mine_->pid(), nullptr, nullptr) != 0)
            ::_exit(99);
        (void)!::write(writer.get(), &*broker, sizeof *broker);
        int status = 0;
        ::waitpid(-1, &status, __WALL); // no target stops
        ::_exit(98);
    }
    pid_t broker = 0;
    ASSERT_EQ(::read(reader.get(), &broker, sizeof broker),
              static_cast<ssize_t>(sizeof broker));
    ::kill(broker, SIGKILL);
    int status = 0;
    ::waitpid(agent, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 1);
    // The kernel closes the descriptors of the broker, on which the agent waits, before it
    // detaches from the broker's targets.
    EXPECT_TRUE(test::wait_until([&] {
        return status_number(read_proc_file(mine_->pid(), "status"), "TracerPid") == 0u;
    }));
}

#endif
