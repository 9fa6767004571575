// SPDX-License-Identifier: MIT
#include "ptrace-agent/confine/broker.hpp"

#include "base/no_signals.hpp"
#include "base/seccomp_filter.hpp"
#include "process/proc_files.hpp"
#include "process/wait_status.hpp"
#include "ptrace-agent/confine/proc_access.hpp"
#include "ptrace-agent/confine/relay.hpp"
#include "ptrace-agent/hold/seize.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <linux/capability.h>
#include <map>
#include <poll.h>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace dt::agent {

namespace {

constexpr std::uint64_t capability(int number)
{
    return 1ull << number;
}

// SYS_PTRACE and DAC_OVERRIDE permit to trace processes and to open their files, and
// KILL permits to send them signals. SYS_ADMIN permits to suspend the seccomp filter of
// a target during an injected system call, and to open the files that a target has
// mapped.
constexpr std::uint64_t broker_rights =
    capability(CAP_SYS_PTRACE) | capability(CAP_DAC_OVERRIDE) | capability(CAP_KILL) |
    capability(CAP_SYS_ADMIN);

constexpr std::uint64_t permitted_options = static_cast<std::uint64_t>(seize_options) |
                                            PTRACE_O_TRACESYSGOOD |
                                            PTRACE_O_SUSPEND_SECCOMP;

volatile sig_atomic_t bell_fd = -1;

void ring(int)
{
    const int before = errno;
    const std::uint64_t one = 1;
    (void)!::write(bell_fd, &one, sizeof one);
    errno = before;
}

class Broker {
public:
    Broker(Fd socket, pid_t agent, TrustDomain domain)
        : socket_(std::move(socket)), agent_(agent), access_(std::move(domain), agent)
    {
    }
    void run();

private:
    enum class State : std::uint8_t {
        running,
        stopped,   // and the last stop was reported to the agent
        forbidden, // gained rights; the agent may only detach from it
        expelled,  // must never have been attached; is detached at its next stop
    };

    std::int64_t serve();
    std::int64_t trace();
    std::int64_t attach(pid_t tid);
    void leave(pid_t tid);
    pid_t take_left(pid_t wanted, bool consumed);
    std::int64_t make_ptrace_call(pid_t tid, const PtraceRequest& kind);
    std::int64_t wait_for_status();
    std::int64_t wait_for_report();
    bool note(pid_t tid, WaitStatus status, bool consumed);
    pid_t next_ready();
    void add_state(pid_t tid);
    std::int64_t open_file();
    std::int64_t read_link();
    std::int64_t copy_descriptor();
    std::int64_t send_signal();
    std::int64_t compare_memory();

    std::string_view path() const
    {
        const auto data = request_.data();
        return {reinterpret_cast<const char*>(data.data()), data.size()};
    }
    std::uint64_t arg(std::size_t n) const { return request_.head.args[n]; }
    int int_arg(std::size_t n) const { return static_cast<int>(arg(n)); }
    pid_t pid_arg(std::size_t n) const { return static_cast<pid_t>(arg(n)); }
    template <class T> void put(const T& value)
    {
        std::memcpy(reply_.bytes.data(), &value, sizeof value);
        reply_.head.n_bytes = sizeof value;
    }
    std::int64_t give(OpenedFile opened)
    {
        if (!opened.file)
            return -opened.error;
        file_ = std::move(opened.file);
        return 0;
    }

    Fd socket_;
    pid_t agent_;
    ProcAccess access_;
    std::map<pid_t, State> threads_;
    pid_t last_turn_ = 0; // the thread that next_ready() has examined last
    std::vector<pid_t>
        left_; // the exit of these processes must be reported to the agent
    RelayRequest request_{};
    RelayReply reply_{};
    Fd file_; // of the request, and then of the reply
};

void Broker::run()
{
    while (request_.receive(socket_.get(), file_) && ::getppid() == agent_) {
        reply_.head = {};
        reply_.head.result = serve();
        const bool has_file = reply_.head.result >= 0 && file_;
        reply_.head.has_file = has_file ? 1 : 0;
        if (!reply_.send(socket_.get(), has_file ? file_.get() : -1))
            return;
    }
}

std::int64_t Broker::serve()
{
    Fd received = std::move(file_);
    switch (request_.head.call) {
    case SYS_ptrace:
        return trace();
    case SYS_wait4:
        return wait_for_status();
    case SYS_waitid:
        return wait_for_report();
    case SYS_openat:
        return received ? give(ProcAccess::reopen(std::move(received))) : open_file();
    case SYS_readlink:
        return read_link();
    case SYS_pidfd_getfd:
        file_ = std::move(received);
        return copy_descriptor();
    case SYS_kill:
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
        return send_signal();
    case SYS_kcmp:
        return compare_memory();
    case compare_domain:
        return access_.is_domain_of(pid_arg(0)) ? 1 : 0;
    default:
        return -EPERM;
    }
}

std::int64_t Broker::trace()
{
    const pid_t tid = pid_arg(1);
    const PtraceRequest kind = ptrace_request(arg(0), arg(2));
    if (kind.kind == PtraceKind::unknown ||
        request_.head.n_bytes != kind.buffers.in_bytes)
        return -EPERM;
    if (kind.kind == PtraceKind::attaches)
        return attach(tid);
    if (arg(0) == PTRACE_SETOPTIONS && (arg(3) & ~permitted_options) != 0)
        return -EPERM;
    const auto known = threads_.find(tid);
    if (kind.kind == PtraceKind::any_time)
        return make_ptrace_call(tid, kind);
    if (known == threads_.end())
        return -ESRCH;
    State& state = known->second;
    if (state == State::forbidden && kind.kind == PtraceKind::resumes) {
        leave(tid);
        if (arg(0) != PTRACE_DETACH)
            left_.push_back(tid);
        return 0;
    }
    if (state != State::stopped)
        return state == State::running ? -ESRCH : -EPERM;
    if (kind.kind == PtraceKind::resumes)
        state = State::running;
    if (arg(0) == PTRACE_DETACH)
        threads_.erase(known);
    return make_ptrace_call(tid, kind);
}

// Detaches from a process that has gained rights, without a signal.
void Broker::leave(pid_t tid)
{
    threads_.erase(tid);
    ::ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
}

// If the agent waits for a process from which the broker has detached, reports to the
// agent that the process has exited. `wanted` is the process, or -1 for any.
pid_t Broker::take_left(pid_t wanted, bool consumed)
{
    const auto found = std::find_if(left_.begin(), left_.end(), [&](pid_t pid) {
        return wanted == -1 || wanted == pid;
    });
    if (found == left_.end())
        return 0;
    const pid_t pid = *found;
    if (consumed)
        left_.erase(found);
    return pid;
}

// The process may execute a program between the check and the call, or another process
// may obtain its id. So the broker checks the process again after attaching.
std::int64_t Broker::attach(pid_t tid)
{
    if (arg(2) != 0 || arg(3) != seize_options)
        return -EINVAL;
    if (status_number(read_proc_file(tid, "status"), "Tgid") == 0)
        return -ESRCH;
    if (!access_.permits(tid))
        return -EPERM;
    if (const int error = seize(tid); error != 0)
        return -error;
    if (access_.permits(tid)) {
        threads_.try_emplace(tid, State::running);
        return 0;
    }
    threads_[tid] = State::expelled;
    ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    return -EPERM;
}

std::int64_t Broker::make_ptrace_call(pid_t tid, const PtraceRequest& kind)
{
    void* addr = reinterpret_cast<void*>(arg(2));
    void* data = reinterpret_cast<void*>(arg(3));
    alignas(16) std::array<std::byte, max_relayed_bytes> buffer;
    if (arg(0) == PTRACE_PEEKSIGINFO) {
        __ptrace_peeksiginfo_args wanted{};
        static_assert(sizeof wanted == peek_arguments_bytes);
        std::memcpy(&wanted, request_.bytes.data(), sizeof wanted);
        if (wanted.nr < 0 || wanted.nr > static_cast<int>(max_peeked))
            return -EINVAL;
        std::memcpy(buffer.data(), &wanted, sizeof wanted);
        addr = buffer.data();
        data = reply_.bytes.data();
    } else if (kind.buffers.in_bytes != 0) {
        std::memcpy(buffer.data(), request_.bytes.data(), kind.buffers.in_bytes);
        data = buffer.data();
    } else if (kind.buffers.out_bytes != 0) {
        data = reply_.bytes.data();
    }
    const long result = ::syscall(SYS_ptrace, arg(0), tid, addr, data);
    if (result < 0)
        return -errno;
    reply_.head.n_bytes = static_cast<std::uint32_t>(
        arg(0) == PTRACE_PEEKSIGINFO
            ? static_cast<std::size_t>(result) * sizeof(siginfo_t)
            : kind.buffers.out_bytes);
    return result;
}

// Records a report of the kernel. Returns false if the agent must not receive it.
bool Broker::note(pid_t tid, WaitStatus status, bool consumed)
{
    const auto known = threads_.find(tid);
    const State before = known == threads_.end() ? State::running : known->second;
    if (!status.is_stopped()) {
        if (consumed)
            threads_.erase(tid);
        return before != State::expelled;
    }
    if (before == State::expelled) {
        threads_.erase(tid);
        ::ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
        return false;
    }
    if (status.raw >> 16 != PTRACE_EVENT_EXEC) {
        threads_[tid] = before == State::forbidden ? State::forbidden : State::stopped;
        return true;
    }
    // The thread that called execve(2) now has the id of its process.
    unsigned long earlier_tid = 0;
    if (get_event_message(tid, earlier_tid))
        threads_.erase(static_cast<pid_t>(earlier_tid));
    threads_[tid] = access_.permits(tid) ? State::stopped : State::forbidden;
    return true;
}

// Returns a thread that has stopped or exited but was not reported yet. Checks the next
// few threads in turn, and returns 0 if none has. waitpid(2) would report one busy thread
// again and again, and the other threads would wait.
pid_t Broker::next_ready()
{
    constexpr int n_examined = 8;
    for (int n = 0; n < n_examined && n < static_cast<int>(threads_.size()); ++n) {
        auto next = threads_.upper_bound(last_turn_);
        if (next == threads_.end())
            next = threads_.begin();
        last_turn_ = next->first;
        siginfo_t report{};
        if (::waitid(P_PID, static_cast<id_t>(last_turn_), &report,
                     WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL) == 0 &&
            report.si_pid != 0)
            return last_turn_;
    }
    return 0;
}

// Never waits. The agent waits for the bell.
std::int64_t Broker::wait_for_status()
{
    if (const pid_t left = take_left(pid_arg(0), true); left != 0) {
        put(int{0}); // exited with the status 0
        return left;
    }
    for (;;) {
        WaitStatus status;
        const pid_t ready = pid_arg(0) == -1 ? next_ready() : 0;
        const pid_t tid = ::waitpid(ready != 0 ? ready : pid_arg(0), &status.raw,
                                    int_arg(2) | WNOHANG | __WALL);
        if (tid <= 0)
            return tid < 0 ? -errno : 0;
        if (!note(tid, status, true))
            continue;
        put(status.raw);
        add_state(tid);
        return tid;
    }
}

// Returns what waitpid(2) would report.
WaitStatus status_of(const siginfo_t& report)
{
    switch (report.si_code) {
    case CLD_EXITED:
        return WaitStatus{(report.si_status & 0xff) << 8};
    case CLD_KILLED:
    case CLD_DUMPED:
        return WaitStatus{report.si_status & 0x7f};
    default:
        return WaitStatus{report.si_status << 8 | 0x7f};
    }
}

std::int64_t Broker::wait_for_report()
{
    const int options = int_arg(3);
    const pid_t wanted = arg(0) == P_PID ? pid_arg(1) : -1;
    if (const pid_t left = take_left(wanted, (options & WNOWAIT) == 0); left != 0) {
        siginfo_t report{};
        report.si_signo = SIGCHLD;
        report.si_code = CLD_EXITED;
        report.si_pid = left;
        put(report);
        return 0;
    }
    for (;;) {
        siginfo_t report{};
        const pid_t ready = arg(0) == P_ALL ? next_ready() : 0;
        if (::waitid(ready != 0 ? P_PID : static_cast<idtype_t>(arg(0)),
                     static_cast<id_t>(ready != 0 ? ready : pid_arg(1)), &report,
                     options | WNOHANG | __WALL) != 0)
            return -errno;
        const bool consumed = (options & WNOWAIT) == 0;
        if (report.si_pid != 0 && !note(report.si_pid, status_of(report), consumed))
            continue;
        put(report);
        add_state(report.si_pid);
        return 0;
    }
}

// Adds the state of a thread to the reply that reports its stop.
void Broker::add_state(pid_t tid)
{
    const auto known = threads_.find(tid);
    StopState state{};
    if (known == threads_.end() || known->second != State::stopped ||
        !get_regs(tid, state.regs) || !get_mask(tid, state.mask))
        return;
    state.has_info = get_siginfo(tid, state.info) ? 1 : 0;
    std::memcpy(reply_.bytes.data() + stop_state_at, &state, sizeof state);
    reply_.head.n_bytes = stop_state_at + sizeof state;
}

std::int64_t Broker::open_file()
{
    return give(access_.open(path(), int_arg(2)));
}

std::int64_t Broker::read_link()
{
    int error = 0;
    const std::string destination = access_.read_link(path(), error);
    const std::size_t n = std::min(
        {destination.size(), reply_.bytes.size(), static_cast<std::size_t>(arg(2))});
    if (error != 0)
        return -error;
    std::memcpy(reply_.bytes.data(), destination.data(), n);
    reply_.head.n_bytes = static_cast<std::uint32_t>(n);
    return static_cast<std::int64_t>(n);
}

// pidfd_getfd(2). The agent has sent its pidfd.
std::int64_t Broker::copy_descriptor()
{
    const Fd process = std::move(file_);
    auto owner = [&] {
        const std::string info =
            read_proc_file(::getpid(), "fdinfo/" + std::to_string(process.get()));
        return static_cast<pid_t>(status_number(info, "Pid"));
    };
    if (!process || owner() <= 0 || !access_.permits(owner()))
        return -EPERM;
    file_ = Fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process.get(), arg(1), 0)));
    if (!file_)
        return -errno;
    if (const pid_t pid = owner(); pid <= 0 || !access_.permits(pid)) {
        file_.reset();
        return -EPERM;
    }
    return 0;
}

std::int64_t Broker::send_signal()
{
    const pid_t pid = pid_arg(0);
    if (pid <= 0)
        return -EPERM;
    if (status_number(read_proc_file(pid, "status"), "Tgid") == 0)
        return -ESRCH;
    if (!access_.permits(pid))
        return -EPERM;
    long result = -1;
    if (request_.head.call == SYS_kill) {
        result = ::kill(pid, int_arg(1));
    } else if (request_.head.call == SYS_tgkill) {
        result = ::syscall(SYS_tgkill, pid, pid_arg(1), int_arg(2));
    } else {
        siginfo_t info{};
        if (request_.head.n_bytes != sizeof info)
            return -EINVAL;
        std::memcpy(&info, request_.bytes.data(), sizeof info);
        result = ::syscall(SYS_rt_tgsigqueueinfo, pid, pid_arg(1), int_arg(2), &info);
    }
    return result < 0 ? -errno : result;
}

std::int64_t Broker::compare_memory()
{
    constexpr std::uint64_t kcmp_vm = 1; // KCMP_VM
    const pid_t a = pid_arg(0), b = pid_arg(1);
    if (arg(2) != kcmp_vm || !access_.permits(a) || !access_.permits(b))
        return -EPERM;
    const long result = ::syscall(SYS_kcmp, a, b, kcmp_vm, 0, 0);
    return result < 0 ? -errno : result;
}

// Ends the broker when the agent exits, even if the broker is blocked in a system call.
void end_with_agent(int socket)
{
    pollfd peer{socket, 0, 0};
    while (::poll(&peer, 1, -1) < 0 && errno == EINTR) {
    }
    ::_exit(0);
}

} // namespace

void run_broker(Fd socket, Fd bell, pid_t agent, TrustDomain domain)
{
    const int low = std::min(socket.get(), bell.get());
    const int high = std::max(socket.get(), bell.get());
    close_standard_descriptors();
    close_between(3, static_cast<unsigned>(low) - 1);
    close_between(static_cast<unsigned>(low) + 1, static_cast<unsigned>(high) - 1);
    close_between(static_cast<unsigned>(high) + 1, ~0U);
    ::prctl(PR_SET_NAME, "ptrace-broker");
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    for (int signal : {SIGIO, SIGALRM, SIGTERM})
        ::signal(signal, SIG_IGN);
    bell_fd = bell.get();
    struct sigaction action {};
    action.sa_handler = ring;
    action.sa_flags = SA_RESTART; // without SA_NOCLDSTOP
    ::sigaction(SIGCHLD, &action, nullptr);
    if (!keep_capabilities(broker_rights))
        ::_exit(1);
    {
        NoSignals here;
        std::thread(end_with_agent, socket.get()).detach();
    }
    Broker(std::move(socket), agent, std::move(domain)).run();
    ::_exit(0);
}

} // namespace dt::agent
