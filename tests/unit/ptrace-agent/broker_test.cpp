// SPDX-License-Identifier: MIT
// Tests that an agent that an attacker has taken over cannot use a program that gains
// rights when a target executes it. The tests act as the agent, and send any requests in
// any order.
#include "ptrace-agent/confine/broker.hpp"

#include "base/fd.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/confine/relay.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <grp.h>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace dt;
using namespace dt::agent;

namespace {

constexpr uid_t program_user = 65534;
constexpr int any_kind = WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL;
constexpr const char* program_name = "gains";

// The thread that executes the program.
enum class Caller : std::uint8_t { only_thread, second_thread };

// A process that executes a program when it is told to.
class Target {
public:
    Target(const std::string& program, Caller caller)
    {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        const Fd reader(ends[0]);
        writer_ = Fd(ends[1]);
        pid_ = ::fork();
        if (pid_ == 0)
            run(reader, program, caller);
        EXPECT_TRUE(test::wait_until([&] {
            return status_number(read_proc_file(pid_, "status"), "Uid", 1) ==
                       program_user &&
                   threads_of(pid_).size() == (caller == Caller::only_thread ? 1u : 2u);
        }));
    }
    ~Target()
    {
        ::kill(pid_, SIGKILL);
        (void)test::wait_until(
            [&] { return ::waitpid(pid_, nullptr, WNOHANG) == pid_; });
    }
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    pid_t pid() const { return pid_; }
    // Executes the program, and waits until it is stopped before its first instruction.
    void execute() const
    {
        EXPECT_EQ(::write(writer_.get(), "x", 1), 1);
        EXPECT_TRUE(test::wait_until(
            [&] { return has_new_program() && thread_state(pid_, pid_) == 't'; }));
    }
    bool has_new_program() const
    {
        return read_proc_file(pid_, "comm") == std::string(program_name) + "\n";
    }
    bool is_traced() const
    {
        return status_number(read_proc_file(pid_, "status"), "TracerPid") != 0;
    }

private:
    [[noreturn]] static void run(const Fd& reader, const std::string& program,
                                 Caller caller)
    {
        (void)!::setgroups(0, nullptr);
        if (::setresgid(program_user, program_user, program_user) != 0 ||
            ::setresuid(program_user, program_user, program_user) != 0)
            ::_exit(1);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const auto execute = [&] {
            char byte = 0;
            while (::read(reader.get(), &byte, 1) < 0) {
            }
            ::execl(program.c_str(), program_name, "1000", nullptr);
            ::_exit(1);
        };
        if (caller == Caller::only_thread)
            execute();
        std::thread(execute).detach();
        for (;;)
            ::pause();
    }

    pid_t pid_ = -1;
    Fd writer_;
};

// A broker with the test as its agent.
class RawBroker {
public:
    explicit RawBroker(const TrustDomain& domain)
    {
        int ends[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        socket_ = Fd(ends[0]);
        Fd other_end(ends[1]);
        const pid_t agent = ::getpid();
        pid_ = ::fork();
        if (pid_ == 0) {
            socket_.reset();
            run_broker(std::move(other_end), agent, domain);
        }
    }
    ~RawBroker()
    {
        kill();
        ::waitpid(pid_, nullptr, 0);
    }
    RawBroker(const RawBroker&) = delete;
    RawBroker& operator=(const RawBroker&) = delete;

    void send(int call, std::array<std::uint64_t, 6> args,
              std::span<const std::byte> input = {}, int file = -1)
    {
        RelayRequest request{};
        request.head.call = call;
        request.head.n_bytes = static_cast<std::uint32_t>(input.size());
        request.head.args = args;
        std::copy(input.begin(), input.end(), request.bytes.begin());
        EXPECT_TRUE(request.send(socket_.get(), file));
    }
    void kill() const { ::kill(pid_, SIGKILL); }
    // Sends a request again and again until the broker has exited.
    void send_all(RelayRequest& request) const
    {
        while (request.send(socket_.get())) {
        }
    }
    // Receives a reply, and returns its result.
    std::int64_t receive()
    {
        EXPECT_TRUE(reply.receive(socket_.get(), file));
        return reply.head.result;
    }
    std::int64_t call(int number, std::array<std::uint64_t, 6> args)
    {
        send(number, args);
        return receive();
    }
    std::int64_t trace(int request, pid_t tid, std::uint64_t addr = 0,
                       std::uint64_t data = 0)
    {
        return call(SYS_ptrace, {word(request), word(tid), addr, data});
    }
    void send_regs(pid_t tid, const user_regs_struct& regs)
    {
        send(SYS_ptrace, {PTRACE_SETREGS, word(tid)},
             std::as_bytes(std::span(&regs, 1)));
    }
    // Opens a file in /proc/PID.
    Fd open(pid_t pid, const char* name, int flags)
    {
        const std::string path = proc_path(pid, name);
        send(SYS_openat, {0, 0, word(flags)}, std::as_bytes(std::span(path)));
        return receive() == 0 ? std::move(file) : Fd();
    }
    // Returns the status of a stop or an exit that is available. The report is not
    // consumed.
    std::optional<WaitStatus> report_of(pid_t tid)
    {
        siginfo_t report{};
        if (call(SYS_waitid, {P_PID, word(tid), 0, any_kind}) != 0)
            return std::nullopt;
        std::memcpy(&report, reply.bytes.data(), sizeof report);
        return report.si_pid == tid ? std::optional(reported_status(report))
                                    : std::nullopt;
    }
    // Consumes a report.
    WaitStatus consume(pid_t tid)
    {
        int status = 0;
        if (call(SYS_wait4, {word(tid), 0, WNOHANG}) == tid)
            std::memcpy(&status, reply.bytes.data(), sizeof status);
        return WaitStatus{status};
    }
    // Attaches to all threads of the target, and stops the leader. Its stop is reported
    // but not consumed.
    void stop_leader(const Target& target)
    {
        const pid_t pid = target.pid();
        for (const pid_t tid : threads_of(pid))
            EXPECT_EQ(trace(PTRACE_SEIZE, tid, 0, seize_options), 0);
        EXPECT_EQ(trace(PTRACE_INTERRUPT, pid), 0);
        EXPECT_TRUE(test::wait_until([&] { return report_of(pid); }));
        EXPECT_EQ(trace(PTRACE_GETREGS, pid), 0);
        std::memcpy(&regs, reply.bytes.data(), sizeof regs);
    }
    static std::uint64_t word(std::int64_t value)
    {
        return static_cast<std::uint64_t>(value);
    }

    RelayReply reply{};
    Fd file;                 // of the last reply
    user_regs_struct regs{}; // of the stopped leader

private:
    pid_t pid_ = -1;
    Fd socket_;
};

class Broker : public testing::Test {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP()
                << "needs root, because only root may install a set-uid program";
        struct statvfs mount {};
        std::string folder = ::testing::TempDir() + "broker_test.XXXXXX";
        ASSERT_NE(::mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        if (::statvfs(folder.c_str(), &mount) != 0 || (mount.f_flag & ST_NOSUID) != 0)
            GTEST_SKIP() << "needs a folder without nosuid for temporary files";
        const std::string program = folder + "/" + program_name;
        std::filesystem::copy_file("/bin/sleep", program);
        ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
        ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
        program_ = program;
        start(Caller::second_thread);
    }
    // Starts a target and its broker.
    void start(Caller caller)
    {
        broker_.reset();
        target_.emplace(program_, caller);
        const auto domain = trust_domain_of(target_->pid());
        ASSERT_TRUE(domain);
        broker_.emplace(*domain);
        broker_->stop_leader(*target_);
    }
    void TearDown() override
    {
        broker_.reset();
        target_.reset();
        if (!folder_.empty())
            std::filesystem::remove_all(folder_);
    }
    pid_t pid() const { return target_->pid(); }
    // Expects that the broker detaches from the new program, and that the program then
    // runs. The agent takes no part.
    void expect_release() const
    {
        EXPECT_TRUE(test::wait_until([&] { return !target_->is_traced(); }));
        EXPECT_TRUE(target_->has_new_program());
        EXPECT_TRUE(
            test::wait_until([&] { return thread_state(pid(), pid()) == 'S'; }));
    }

    std::string folder_, program_;
    std::optional<Target> target_;
    std::optional<RawBroker> broker_;
};

TEST_F(Broker, RefusesRequestsBeforeItHasReportedAnExec)
{
    target_->execute();
    for (const auto request : {PTRACE_GETREGS, PTRACE_GETFPREGS, PTRACE_GETEVENTMSG}) {
        EXPECT_EQ(broker_->trace(request, pid()), -ESRCH);
        EXPECT_EQ(broker_->reply.head.n_bytes, 0u);
    }
    broker_->send_regs(pid(), broker_->regs);
    EXPECT_EQ(broker_->receive(), -ESRCH);
    EXPECT_EQ(broker_->trace(PTRACE_CONT, pid()), -ESRCH);
    ASSERT_TRUE(broker_->report_of(pid()));
    EXPECT_EQ(broker_->trace(PTRACE_GETREGS, pid()), -EPERM);
    EXPECT_EQ(broker_->trace(PTRACE_DETACH, pid()), 0);
    expect_release();
}

TEST_F(Broker, NoticesAnExecWhoseReportTheAgentTakesUnread)
{
    target_->execute();
    constexpr int exec_status = (PTRACE_EVENT_EXEC << 8 | SIGTRAP) << 8 | 0x7f;
    RelayedCall take;
    take.call = SYS_wait4;
    take.args = {RawBroker::word(pid()), exec_status};
    broker_->send(relayed_batch, {}, std::as_bytes(std::span(&take, 1)));
    EXPECT_LT(broker_->trace(PTRACE_GETREGS, pid()), 0);
    EXPECT_LT(broker_->trace(PTRACE_GETFPREGS, pid()), 0);
}

// The broker would permit requests for a running thread if it treated the report of
// SIGCONT like that of a stop.
TEST_F(Broker, PermitsNoRequestsForAProgramAfterAReportOfSigcont)
{
    start(Caller::only_thread);
    (void)broker_->consume(pid());
    EXPECT_EQ(broker_->trace(PTRACE_CONT, pid()), 0);
    for (const int signal : {SIGSTOP, SIGCONT}) {
        EXPECT_EQ(
            broker_->call(SYS_kill, {RawBroker::word(pid()), RawBroker::word(signal)}),
            0);
        for (int ms = 0; ms < 100; ++ms) {
            const WaitStatus stop = broker_->consume(pid());
            if (stop.is_stopped())
                broker_->trace(PTRACE_CONT, pid(), 0,
                               stop.event() == 0 ? RawBroker::word(stop.signal()) : 0);
            ::usleep(1000);
        }
    }
    constexpr int options = WCONTINUED | WNOWAIT | WNOHANG | __WALL;
    EXPECT_EQ(broker_->call(SYS_waitid, {P_PID, RawBroker::word(pid()), 0,
                                         RawBroker::word(options)}),
              -EINVAL);
    target_->execute();
    EXPECT_EQ(broker_->trace(PTRACE_GETREGS, pid()), -ESRCH);
}

TEST_F(Broker, RefusesOptionsThatWouldHideAnExec)
{
    EXPECT_EQ(broker_->trace(PTRACE_SETOPTIONS, pid(), 0, 0), -EPERM);
    EXPECT_EQ(broker_->trace(PTRACE_SETOPTIONS, pid(), 0, PTRACE_O_TRACESYSGOOD),
              -EPERM);
    EXPECT_EQ(broker_->trace(PTRACE_SETOPTIONS, pid(), 0, PTRACE_O_TRACEEXEC), 0);
}

TEST_F(Broker, OpensNoMemoryOfAProgramThroughADescriptorOfTheEarlierProgram)
{
    const auto at = static_cast<off_t>(broker_->regs.rsp);
    const Fd mem = broker_->open(pid(), "mem", O_RDWR);
    std::uint64_t value = 0;
    ASSERT_EQ(::pread(mem.get(), &value, sizeof value, at),
              static_cast<ssize_t>(sizeof value));
    broker_->send(SYS_openat, {}, {}, mem.get());
    EXPECT_EQ(broker_->receive(), -EACCES);
    target_->execute();
    broker_->send(SYS_openat, {}, {}, mem.get());
    EXPECT_EQ(broker_->receive(), -EACCES);
    EXPECT_FALSE(broker_->open(pid(), "mem", O_RDONLY));
    // The earlier program's memory no longer exists.
    EXPECT_EQ(::pread(mem.get(), &value, sizeof value, at), 0);
    EXPECT_EQ(::pwrite(mem.get(), &value, sizeof value, at), 0);

    const Fd own(::memfd_create("own", MFD_CLOEXEC));
    broker_->send(SYS_openat, {}, {}, own.get());
    EXPECT_EQ(broker_->receive(), 0);
    EXPECT_EQ(::fcntl(broker_->file.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_F(Broker, DetachesFromAProgramFromWhichTheAgentDoesNotDetach)
{
    target_->execute();
    EXPECT_EQ(broker_->consume(pid()).event(), PTRACE_EVENT_EXEC);
    EXPECT_TRUE(target_->is_traced()); // so that the agent can examine the process
    expect_release();
    WaitStatus status = broker_->consume(pid());
    EXPECT_TRUE(WIFEXITED(status.raw)) << std::hex << status.raw;
}

TEST_F(Broker, DetachesFromAProgramForWhichTheAgentDoesNotWait)
{
    target_->execute();
    expect_release();
    // An agent that was busy can still report why the process is no longer traced.
    EXPECT_EQ(broker_->consume(pid()).event(), PTRACE_EVENT_EXEC);
    EXPECT_EQ(broker_->trace(PTRACE_GETREGS, pid()), -ESRCH);
    const auto exit = broker_->report_of(pid());
    ASSERT_TRUE(exit);
    EXPECT_TRUE(WIFEXITED(exit->raw));
    EXPECT_EQ(broker_->trace(PTRACE_DETACH, pid()), -ESRCH);
    EXPECT_FALSE(broker_->report_of(pid()));
}

TEST_F(Broker, DetachesFromAProgramAlthoughTheAgentSendsRequestsWithoutPause)
{
    target_->execute();
    EXPECT_TRUE(test::wait_until([&] {
        for (int n = 0; n < 100; ++n)
            (void)broker_->call(relayed_settle, {});
        return !target_->is_traced();
    }));
    expect_release();
}

TEST_F(Broker, DetachesFromAProgramAlthoughTheAgentReadsNoReplies)
{
    target_->execute();
    std::thread sender([&] {
        // Fails after the broker has exited.
        RelayRequest request{};
        request.head.call = relayed_settle;
        broker_->send_all(request);
    });
    expect_release();
    broker_->kill();
    sender.join();
}

} // namespace
