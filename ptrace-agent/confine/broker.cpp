// SPDX-License-Identifier: MIT
#include "ptrace-agent/confine/broker.hpp"

#include "base/no_signals.hpp"
#include "base/seccomp_filter.hpp"
#include "process/jail/start_jailed.hpp"
#include "process/proc_files.hpp"
#include "process/wait_status.hpp"
#include "ptrace-agent/confine/proc_access.hpp"
#include "ptrace-agent/confine/relay.hpp"
#include "ptrace-agent/hold/seize.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/rules/rule_reader.hpp"
#include "ptrace-agent/rules/rule_server.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <linux/capability.h>
#include <map>
#include <optional>
#include <poll.h>
#include <set>
#include <string>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
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
                                            PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD |
                                            PTRACE_O_SUSPEND_SECCOMP;

// A program that gained rights stays stopped for at most this time after the broker has
// noticed it. The broker looks for such programs once per second, even if the agent does
// not wait for reports.
constexpr std::chrono::seconds max_stopped{2}, look_interval{1};

// The agent reads each reply at once. A broker that waits longer for the agent exits.
constexpr timeval max_send_wait{2, 0};

// Makes SIGCHLD interrupt ppoll(2).
void wake(int) {}

// Returns the process to which a thread belongs, or 0 if the thread has exited.
pid_t process_of(pid_t tid)
{
    return static_cast<pid_t>(status_number(read_proc_file(tid, "status"), "Tgid"));
}

// Returns the thread's stop that was not consumed yet, if there is one.
std::optional<WaitStatus> unconsumed_stop(pid_t tid)
{
    siginfo_t report{};
    if (::waitid(P_PID, static_cast<id_t>(tid), &report,
                 WSTOPPED | WNOWAIT | WNOHANG | __WALL) != 0 ||
        report.si_pid == 0)
        return std::nullopt;
    return reported_status(report);
}

class Broker {
public:
    Broker(Fd socket, pid_t agent, TrustDomain domain)
        : socket_(std::move(socket)), agent_(agent), access_(std::move(domain), agent)
    {
    }
    // SIGCHLD must be blocked, except in `while_waiting`.
    void run(const sigset_t& while_waiting);

private:
    using Clock = std::chrono::steady_clock;
    enum class State : std::uint8_t {
        running,
        stopped,   // and the last stop was reported to the agent
        forbidden, // gained rights; the agent may only detach from it
        expelled,  // must never have been attached; is detached at its next stop
    };
    struct Thread {
        pid_t process = 0;
        State state = State::running;
        Clock::time_point noticed{}; // when the broker noticed the gained rights
    };
    struct Report {
        pid_t pid;
        WaitStatus status;
    };

    std::int64_t serve();
    bool reply(std::int64_t result);
    bool reply_if_reported();
    void make_all_calls();
    std::int64_t trace();
    int attach(pid_t tid);
    int admit(pid_t tid);
    std::int64_t attach_to_all(pid_t process);
    bool leave(pid_t tid);
    void keep_exit(pid_t tid, std::optional<WaitStatus> stop);
    void forget_kept(pid_t tid);
    void look_for_gained_rights();
    std::optional<Report> take_kept(pid_t wanted, bool consumed);
    std::int64_t make_ptrace_call(pid_t tid, const PtraceRequest& kind);
    std::int64_t wait_for_status();
    std::int64_t wait_for_report();
    void take_report();
    bool note(pid_t tid, WaitStatus status, bool consumed);
    pid_t next_ready();
    void add_state(pid_t tid, WaitStatus status);
    std::int64_t open_file();
    std::int64_t read_link();
    std::int64_t copy_descriptor();
    std::int64_t send_signal();
    std::int64_t compare_memory();
    std::int64_t start_rule_reader();

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
    std::map<pid_t, Thread> threads_;
    Clock::time_point next_look_{};
    pid_t last_turn_ = 0; // the thread that next_ready() has examined last
    // Reports that the kernel does not repeat, and that the agent has not received yet.
    std::vector<Report> kept_;
    unsigned n_rule_readers_ = 0;        // that were started
    std::optional<RelayedCall> awaited_; // a relayed_await without a reply
    RelayRequest request_{};
    RelayRequest batch_{};
    RelayReply reply_{};
    Fd file_; // of the request, and then of the reply
};

void Broker::run(const sigset_t& while_waiting)
{
    constexpr timespec interval{look_interval.count(), 0};
    for (;;) {
        look_for_gained_rights();
        if (awaited_ && !reply_if_reported())
            return;
        pollfd message{socket_.get(), POLLIN, 0};
        if (::ppoll(&message, 1, threads_.empty() ? nullptr : &interval,
                    awaited_ ? &while_waiting : nullptr) <= 0)
            continue; // perhaps a target has stopped
        if (!request_.receive(socket_.get(), file_) || ::getppid() != agent_)
            return;
        if (request_.head.call == relayed_await)
            awaited_ = request_.head;
        else if (request_.head.call == relayed_batch)
            make_all_calls();
        else if (!reply(serve()))
            return;
    }
}

// Returns false if the agent has exited.
bool Broker::reply(std::int64_t result)
{
    reply_.head.result = result;
    const bool has_file = result >= 0 && file_;
    reply_.head.has_file = has_file ? 1 : 0;
    const bool sent = reply_.send(socket_.get(), has_file ? file_.get() : -1);
    reply_.head = {};
    return sent;
}

// Replies to the agent's relayed_await if there is something to report. Returns false if
// the agent has exited.
bool Broker::reply_if_reported()
{
    request_.head = *awaited_;
    const std::int64_t result = wait_for_report();
    siginfo_t report{};
    std::memcpy(&report, reply_.bytes.data(), sizeof report);
    if (result == 0 && report.si_pid == 0) {
        reply_.head = {};
        return true;
    }
    reply_.head.await_number = awaited_->args[4];
    awaited_.reset();
    file_.reset();
    return reply(result);
}

// Makes the calls of a relayed_batch.
void Broker::make_all_calls()
{
    batch_ = request_;
    file_.reset();
    for (auto rest = batch_.data(); rest.size() >= sizeof(RelayedCall);) {
        std::memcpy(&request_.head, rest.data(), sizeof(RelayedCall));
        rest = rest.subspan(sizeof(RelayedCall));
        const std::size_t n = request_.head.n_bytes;
        if (n > rest.size())
            break;
        std::memcpy(request_.bytes.data(), rest.data(), n);
        rest = rest.subspan(n);
        if (request_.head.call == SYS_ptrace)
            (void)trace();
        else if (request_.head.call == SYS_wait4)
            take_report();
        reply_.head = {};
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
    case relayed_settle:
        return 0;
    case relayed_compare:
        return access_.is_domain_of(pid_arg(0)) ? 1 : 0;
    case relayed_rules:
        return start_rule_reader();
    case relayed_attach:
        return attach_to_all(pid_arg(0));
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
        return arg(2) == 0 && arg(3) == seize_options ? -attach(tid) : -EINVAL;
    // Without PTRACE_O_TRACEEXEC, the broker would not notice an exec.
    if (arg(0) == PTRACE_SETOPTIONS &&
        ((arg(3) & ~permitted_options) != 0 || (arg(3) & PTRACE_O_TRACEEXEC) == 0))
        return -EPERM;
    if (kind.kind == PtraceKind::any_time)
        return make_ptrace_call(tid, kind);
    const auto known = threads_.find(tid);
    if (known == threads_.end()) {
        if (arg(0) == PTRACE_DETACH)
            forget_kept(tid); // perhaps the broker has already detached from the thread
        return -ESRCH;
    }
    State& state = known->second.state;
    if (state == State::forbidden && kind.kind == PtraceKind::resumes) {
        if (leave(tid) && arg(0) != PTRACE_DETACH)
            keep_exit(tid, std::nullopt);
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

// Detaches from a stopped thread, without a signal. Returns false if the thread has been
// killed. The kernel then reports its exit.
bool Broker::leave(pid_t tid)
{
    threads_.erase(tid);
    // The kernel may refuse the request before the report of the stop is consumed.
    siginfo_t report{};
    ::waitid(P_PID, static_cast<id_t>(tid), &report, WSTOPPED | WNOHANG | __WALL);
    return ::ptrace(PTRACE_DETACH, tid, nullptr, nullptr) == 0;
}

// Reports to the agent that the thread has exited with the status 0. Reports the stop
// first, if there is one.
void Broker::keep_exit(pid_t tid, std::optional<WaitStatus> stop)
{
    forget_kept(tid);
    if (stop)
        kept_.push_back({tid, *stop});
    kept_.push_back({tid, WaitStatus{0}});
}

void Broker::forget_kept(pid_t tid)
{
    std::erase_if(kept_, [tid](const Report& each) { return each.pid == tid; });
}

// Detaches from programs that gained rights, and that the agent has not detached from in
// time. The agent may not even have waited for the report of the exec.
void Broker::look_for_gained_rights()
{
    const auto now = Clock::now();
    if (now < next_look_)
        return;
    next_look_ = now + look_interval;
    // A thread that executes a program gets the id of its process.
    std::set<pid_t> candidates;
    for (const auto& [tid, thread] : threads_) {
        candidates.insert(thread.process);
        if (thread.state == State::expelled)
            candidates.insert(tid);
    }
    for (const pid_t tid : candidates) {
        auto known = threads_.find(tid);
        const bool expelled =
            known != threads_.end() && known->second.state == State::expelled;
        const auto stop = unconsumed_stop(tid);
        if (stop && (expelled || stop->event() == PTRACE_EVENT_EXEC))
            note(tid, *stop, false);
        known = threads_.find(tid);
        if (known != threads_.end() && known->second.state == State::forbidden &&
            now >= known->second.noticed + max_stopped && leave(tid))
            keep_exit(tid, stop);
    }
}

// Returns a kept report of this thread, or of any thread if `wanted` is -1.
std::optional<Broker::Report> Broker::take_kept(pid_t wanted, bool consumed)
{
    const auto found =
        std::find_if(kept_.begin(), kept_.end(), [&](const Report& each) {
            return wanted == -1 || wanted == each.pid;
        });
    if (found == kept_.end())
        return std::nullopt;
    const Report report = *found;
    if (consumed)
        kept_.erase(found);
    return report;
}

// Attaches to a thread. Returns 0 or an errno. The process may execute a program between
// the check and the call, or another process may obtain its id. So the broker checks the
// process again after attaching.
int Broker::attach(pid_t tid)
{
    if (process_of(tid) == 0)
        return ESRCH;
    if (!access_.permits(tid))
        return EPERM;
    const int error = seize(tid);
    return error != 0 ? error : admit(tid);
}

// Records a thread to which the broker has just attached. Returns 0, or an errno if the
// agent may not trace it.
int Broker::admit(pid_t tid)
{
    const bool permitted = access_.permits(tid);
    threads_[tid] = {process_of(tid), permitted ? State::running : State::expelled};
    if (permitted)
        return 0;
    ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    return EPERM;
}

// Attaches to the threads of a process (relayed_attach). Returns 0, or a negated errno. A
// thread may have rights of its own, or its id may belong to another process now. So the
// broker checks each thread after attaching.
std::int64_t Broker::attach_to_all(pid_t process)
{
    if (process_of(process) != process)
        return -ESRCH;
    if (!access_.permits(process))
        return -EPERM;
    // The kernel may have given the leader's id to another thread (execve(2)), so the
    // broker always tries to attach to the leader.
    std::vector<SeizeResult> results = seize_threads(
        process, [&](pid_t tid) { return tid != process && threads_.contains(tid); });
    for (SeizeResult& each : results)
        if (each.error == 0)
            each.error = admit(each.tid);
    reply_.head.n_bytes =
        static_cast<std::uint32_t>(results.size() * sizeof(SeizeResult));
    std::memcpy(reply_.bytes.data(), results.data(), reply_.head.n_bytes);
    return 0;
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

// Records a report of the kernel. Returns false if the agent must not receive it. The
// same stop may be recorded several times.
bool Broker::note(pid_t tid, WaitStatus status, bool consumed)
{
    const auto known = threads_.find(tid);
    const State before = known == threads_.end() ? State::running : known->second.state;
    if (!status.is_stopped()) {
        if (before == State::expelled && !consumed)
            ::waitpid(tid, nullptr, WNOHANG | __WALL);
        if (consumed || before == State::expelled)
            threads_.erase(tid);
        return before != State::expelled;
    }
    if (before == State::expelled) {
        (void)leave(tid);
        return false;
    }
    if (before == State::forbidden)
        return true;
    if (status.event() != PTRACE_EVENT_EXEC) {
        const pid_t process =
            known == threads_.end() ? process_of(tid) : known->second.process;
        // If the process is not known, the thread is about to exit.
        threads_[tid] = {process, process != 0 ? State::stopped : State::running};
        return true;
    }
    // The thread that called execve(2) now has the id of its process, and all other
    // threads have exited.
    std::erase_if(threads_, [tid](const auto& each) {
        return each.second.process == tid && each.first != tid;
    });
    const State after = access_.permits(tid) ? State::stopped : State::forbidden;
    threads_[tid] = {tid, after, Clock::now()};
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
    if ((int_arg(2) & ~(WNOHANG | __WALL)) != 0)
        return -EINVAL;
    if (const auto kept = take_kept(pid_arg(0), true)) {
        put(kept->status.raw);
        add_state(kept->pid, kept->status);
        return kept->pid;
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
        add_state(tid, status);
        return tid;
    }
}

std::int64_t Broker::wait_for_report()
{
    // With WCONTINUED, the kernel would report running threads.
    constexpr int permitted = WEXITED | WSTOPPED | WNOWAIT | WNOHANG | __WALL;
    const int options = int_arg(3);
    if ((options & ~permitted) != 0 || (arg(0) != P_PID && arg(0) != P_ALL))
        return -EINVAL;
    const pid_t wanted = arg(0) == P_PID ? pid_arg(1) : -1;
    if (const auto kept = take_kept(wanted, (options & WNOWAIT) == 0)) {
        siginfo_t report{};
        report.si_signo = SIGCHLD;
        report.si_code = kept->status.is_stopped() ? CLD_TRAPPED : CLD_EXITED;
        report.si_status = kept->status.raw >> 8;
        report.si_pid = kept->pid;
        put(report);
        add_state(kept->pid, kept->status);
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
        if (report.si_pid != 0 &&
            !note(report.si_pid, reported_status(report), consumed))
            continue;
        put(report);
        if (report.si_pid != 0)
            add_state(report.si_pid, reported_status(report));
        return 0;
    }
}

// Takes the report of a stop that the agent has already received (WNOWAIT). The second
// argument is the wait status. Another stop is kept for the agent. The thread may have
// another stop if it is a leader: when another thread executes a program, that thread
// gets the leader's id.
void Broker::take_report()
{
    const pid_t tid = pid_arg(0);
    siginfo_t report{};
    if (::waitid(P_PID, static_cast<id_t>(tid), &report, WSTOPPED | WNOHANG | __WALL) ==
            0 &&
        report.si_pid != 0 && note(tid, reported_status(report), true) &&
        reported_status(report).raw != int_arg(1))
        kept_.push_back({tid, reported_status(report)});
}

// Returns whether a signal is queued for the stopped thread.
bool may_queue(pid_t tid)
{
    siginfo_t first;
    __ptrace_peeksiginfo_args args{};
    args.nr = 1;
    return ::ptrace(PTRACE_PEEKSIGINFO, tid, &args, &first) != 0;
}

// Adds the state of a thread to the reply that reports its stop.
void Broker::add_state(pid_t tid, WaitStatus status)
{
    const auto known = threads_.find(tid);
    StopState state{};
    if (known == threads_.end() || known->second.state != State::stopped ||
        !get_regs(tid, state.regs) || !get_mask(tid, state.mask))
        return;
    state.has_info = get_siginfo(tid, state.info) ? 1 : 0;
    // The agent reads the queue only at these stops.
    state.may_queue = status.event() != PTRACE_EVENT_STOP || may_queue(tid) ? 1 : 0;
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

// The process may gain rights by an exec between the check and the call. It keeps its real
// user id then, so the processes of the domain may send it the same signal themselves.
std::int64_t Broker::send_signal()
{
    const pid_t pid = pid_arg(0);
    if (pid <= 0)
        return -EPERM;
    if (process_of(pid) == 0)
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

// The processes are checked after the call, in case that they gain rights meanwhile.
std::int64_t Broker::compare_memory()
{
    constexpr std::uint64_t kcmp_vm = 1; // KCMP_VM
    const pid_t a = pid_arg(0), b = pid_arg(1);
    const long result = ::syscall(SYS_kcmp, a, b, kcmp_vm, 0, 0);
    const int error = errno;
    if (arg(2) != kcmp_vm || !access_.permits(a) || !access_.permits(b))
        return -EPERM;
    return result < 0 ? -error : result;
}

// The process enters its jail before it reads anything from the agent.
std::int64_t Broker::start_rule_reader()
{
    if (n_rule_readers_ >= RuleReader::max_starts)
        return -EPERM;
    n_rule_readers_++;
    auto started = start_jailed("dtrace-rules", serve_rules, Parent::init);
    if (!started)
        return -EAGAIN;
    file_ = std::move(started->socket);
    return 0;
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

void run_broker(Fd socket, pid_t agent, TrustDomain domain)
{
    const auto own = static_cast<unsigned>(socket.get());
    close_standard_descriptors();
    close_between(3, own - 1);
    close_between(own + 1, ~0U);
    ::prctl(PR_SET_NAME, "ptrace-broker");
    ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &max_send_wait,
                 sizeof max_send_wait);
    for (int signal : {SIGIO, SIGALRM, SIGTERM})
        ::signal(signal, SIG_IGN);
    struct sigaction action {};
    action.sa_handler = wake; // without SA_NOCLDSTOP
    ::sigaction(SIGCHLD, &action, nullptr);
    sigset_t blocked, before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
    if (!keep_capabilities(broker_rights))
        ::_exit(1);
    {
        NoSignals here;
        std::thread(end_with_agent, socket.get()).detach();
    }
    Broker(std::move(socket), agent, std::move(domain)).run(before);
    ::_exit(0);
}

} // namespace dt::agent
