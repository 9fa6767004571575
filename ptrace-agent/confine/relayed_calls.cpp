// SPDX-License-Identifier: MIT
#include "ptrace-agent/confine/relayed_calls.hpp"

#include "base/seccomp_filter.hpp"
#include "ptrace-agent/confine/relay.hpp"
#include "ptrace-agent/confine/stopped_threads.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

namespace dt::agent {

const std::array<int, 13> relayed_calls{SYS_rt_sigprocmask,
                                        SYS_ptrace,
                                        SYS_wait4,
                                        SYS_waitid,
                                        SYS_open,
                                        SYS_openat,
                                        SYS_newfstatat,
                                        SYS_readlink,
                                        SYS_readlinkat,
                                        SYS_kcmp,
                                        SYS_kill,
                                        SYS_pidfd_getfd,
                                        SYS_rt_tgsigqueueinfo};

namespace {

int the_socket = -1;
pid_t main_thread = 0;
std::uint64_t await_number = 0; // of the last relayed_await
bool is_awaiting = false;       // a reply to that relayed_await will be used

// Calls that have not been sent to the broker yet.
RelayRequest batch{};
// Whether the broker may not have made all calls of earlier batches yet.
bool is_unsettled = false;

// If the broker has exited, its targets are no longer traced, and the agent can do
// nothing more.
void send_or_exit(RelayRequest& request, int file = -1)
{
    if (!request.send(the_socket, file))
        ::_exit(1);
}

void send_batch()
{
    if (batch.head.n_bytes == 0)
        return;
    batch.head.call = relayed_batch;
    send_or_exit(batch);
    batch.head.n_bytes = 0;
    is_unsettled = true;
}

struct Call {
    int number = 0;
    std::array<std::uint64_t, 6> args{};
    // The thread's signal mask before SIGSYS. Null if the mask need not change during a
    // wait.
    const sigset_t* mask = nullptr;
    template <class T> T* at(std::size_t n) const
    {
        return reinterpret_cast<T*>(args[n]);
    }
};

// Adds a call to the batch. `input` is what the call reads from memory.
void add_to_batch(const Call& call, const void* input = nullptr, std::size_t n = 0)
{
    RelayedCall head;
    head.call = call.number;
    head.n_bytes = static_cast<std::uint32_t>(n);
    head.args = call.args;
    if (batch.head.n_bytes + sizeof head + n > batch.bytes.size())
        send_batch();
    std::byte* at = batch.bytes.data() + batch.head.n_bytes;
    std::memcpy(at, &head, sizeof head);
    if (n != 0)
        std::memcpy(at + sizeof head, input, n);
    batch.head.n_bytes += static_cast<std::uint32_t>(sizeof head + n);
}

// A request with a reply.
struct Exchange {
    RelayRequest request;
    RelayReply reply;
    Fd file;

    explicit Exchange(const Call& call)
    {
        request.head.call = call.number;
        request.head.n_bytes = 0;
        request.head.args = call.args;
    }
    void add(const void* from, std::size_t n)
    {
        std::memcpy(request.bytes.data(), from, n);
        request.head.n_bytes = static_cast<std::uint32_t>(n);
    }
    // Returns the result of the call.
    long run(int sent = -1)
    {
        if (sent >= 0 && ::fcntl(sent, F_GETFD) < 0)
            return -EBADF;
        send_batch();
        send_or_exit(request, sent);
        // Signals must not interrupt the wait. Otherwise an agent with a stopped broker
        // would use CPU time, and dtrace would not notice that the agent is silent.
        sigset_t all;
        sigfillset(&all);
        for (;;) {
            pollfd message{the_socket, POLLIN, 0};
            (void)::ppoll(&message, 1, nullptr, &all);
            if (!reply.receive(the_socket, file))
                ::_exit(1);
            if (reply.head.await_number == 0)
                break;
            // This report is not lost, because a relayed_await does not consume it.
            is_awaiting = false;
        }
        is_unsettled = false;
        // The broker may already have sent a second reply with the same report: the
        // reply to relayed_await. It must be ignored, because the thread will have been
        // resumed when the agent reads it.
        if (request.head.call == SYS_waitid || request.head.call == SYS_wait4)
            is_awaiting = false;
        return static_cast<long>(reply.head.result);
    }
    void copy_output(void* to, std::size_t max) const
    {
        if (to != nullptr)
            std::memcpy(to, reply.bytes.data(),
                        std::min<std::size_t>(max, reply.head.n_bytes));
    }
};

// Takes the report of a stopped thread.
void consume_report(StoppedThread& thread)
{
    Call take;
    take.number = SYS_wait4;
    take.args[0] = static_cast<std::uint64_t>(thread.tid);
    take.args[1] = static_cast<std::uint64_t>(thread.status);
    add_to_batch(take);
    thread.has_report = false;
}

// Returns whether a request that resumes a stopped thread succeeds.
bool can_resume(const Call& call)
{
    return call.args[3] < static_cast<std::uint64_t>(SIGRTMAX);
}

long ptrace_call(const Call& call)
{
    const PtraceRequest kind = ptrace_request(call.args[0], call.args[2]);
    if (kind.kind == PtraceKind::unknown)
        return -EPERM;
    const void* input = call.at<void>(call.args[0] == PTRACE_PEEKSIGINFO ? 2 : 3);
    if (call.args[0] == PTRACE_INTERRUPT) {
        add_to_batch(call); // can fail only if the thread has exited
        return 0;
    }
    if (StoppedThread* thread = find_stopped(call.args[1])) {
        long result = 0;
        if (read_state(call.args, thread->state, result))
            return result;
        if (change_state(call.args, thread->state)) {
            add_to_batch(call, input, kind.buffers.in_bytes);
            return 0;
        }
        if (kind.kind == PtraceKind::resumes && can_resume(call)) {
            thread->tid = 0;
            add_to_batch(call);
            send_batch(); // the thread must not wait for the agent's next call
            return 0;
        }
        if (kind.buffers.out_bytes == 0)
            thread->tid = 0; // the request may change the state
    }
    Exchange exchange(call);
    if (kind.buffers.in_bytes != 0)
        exchange.add(input, kind.buffers.in_bytes);
    const long result = exchange.run();
    if (result >= 0)
        exchange.copy_output(call.at<void>(3), kind.buffers.out_bytes);
    return result;
}

// Copies the report in a reply, and keeps the state that the reply contains.
siginfo_t report_in(const RelayReply& reply, bool has_report)
{
    siginfo_t report{};
    std::memcpy(&report, reply.bytes.data(),
                std::min<std::size_t>(sizeof report, reply.head.n_bytes));
    if (report.si_pid != 0)
        keep_state(report.si_pid, reported_status(report).raw, has_report, reply);
    return report;
}

// Waits for a report that is not consumed. `call` is a waitid(2). Returns 0 or a negated
// errno, which is -EINTR after a signal. The thread's earlier signal mask is in effect
// during the wait.
long await_report(Call call, siginfo_t& report)
{
    static std::array<std::uint64_t, 6> awaited{};
    call.number = SYS_waitid;
    call.args[3] |= WNOWAIT;
    Exchange exchange(call);
    exchange.request.head.args[4] = await_number;
    send_batch();
    if (!is_awaiting || awaited != exchange.request.head.args) {
        exchange.request.head.call = relayed_await;
        exchange.request.head.args[4] = ++await_number;
        awaited = exchange.request.head.args;
        is_awaiting = true;
        send_or_exit(exchange.request);
    }
    for (;;) {
        pollfd message{the_socket, POLLIN, 0};
        if (::ppoll(&message, 1, nullptr, call.mask) < 0) {
            // The broker may not have noticed the last stops yet.
            exchange.request.head.call = SYS_waitid;
            exchange.request.head.args[3] |= WNOHANG;
            const long result = exchange.run();
            report = result == 0 ? report_in(exchange.reply, true) : siginfo_t{};
            return result == 0 && report.si_pid == 0 ? -EINTR : result;
        }
        if (!exchange.reply.receive(the_socket, exchange.file))
            ::_exit(1);
        if (exchange.reply.head.await_number != await_number)
            continue; // the reply to an earlier relayed_await
        is_awaiting = false;
        report = report_in(exchange.reply, true);
        return static_cast<long>(exchange.reply.head.result);
    }
}

// waitpid(2) for a report that is available already. Returns 0 if there is no report.
long take_status(const Call& call, std::uint64_t pid)
{
    Exchange exchange(call);
    exchange.request.head.args[0] = pid;
    exchange.request.head.args[2] |= WNOHANG;
    const long result = exchange.run();
    if (result > 0) {
        int status = 0;
        exchange.copy_output(&status, sizeof status);
        if (call.args[1] != 0)
            std::memcpy(call.at<void>(1), &status, sizeof status);
        keep_state(static_cast<pid_t>(result), status, false, exchange.reply);
    }
    return result;
}

long wait_for_status(const Call& call)
{
    const auto wanted = static_cast<pid_t>(call.args[0]);
    const auto id = static_cast<std::uint64_t>(wanted > 0 ? wanted : 0);
    for (;;) {
        StoppedThread* thread = find_stopped(id);
        if (thread == nullptr || !thread->has_report) {
            if (const long result = take_status(call, call.args[0]);
                result != 0 || (call.args[2] & WNOHANG) != 0)
                return result;
            Call wait = call;
            wait.args = {static_cast<std::uint64_t>(wanted > 0 ? P_PID : P_ALL), id, 0,
                         WEXITED | WSTOPPED | __WALL};
            siginfo_t report{};
            if (const long error = await_report(wait, report); error != 0)
                return error;
            thread = find_stopped(static_cast<std::uint64_t>(report.si_pid));
        }
        if (thread == nullptr || !thread->has_report)
            continue; // it has exited
        if (call.args[1] != 0)
            std::memcpy(call.at<void>(1), &thread->status, sizeof thread->status);
        consume_report(*thread);
        return thread->tid;
    }
}

// waitid(2). The agent consumes reports only with waitpid(2).
long wait_for_report(const Call& call)
{
    if ((call.args[3] & WNOWAIT) == 0)
        return -EINVAL;
    siginfo_t report{};
    long result = 0;
    if ((call.args[3] & WNOHANG) != 0) {
        Exchange exchange(call);
        result = exchange.run();
        if (result == 0)
            report = report_in(exchange.reply, true);
    } else {
        result = await_report(call, report);
    }
    if (result == 0 && call.args[2] != 0)
        std::memcpy(call.at<void>(2), &report, sizeof report);
    return result;
}

bool add_path(Exchange& exchange, const char* path)
{
    const std::size_t n = std::strlen(path);
    if (n > max_relayed_bytes)
        return false;
    exchange.add(path, n);
    return true;
}

long open_file(const Call& call, const char* path, std::uint64_t flags)
{
    Exchange exchange(call);
    exchange.request.head.call = SYS_openat;
    exchange.request.head.args[2] = flags;
    if (path[0] != '/' || !add_path(exchange, path))
        return -EACCES;
    const long result = exchange.run(own_descriptor(path));
    return result < 0 ? result : exchange.file.release();
}

long read_link(const Call& call, const char* path, char* into, std::uint64_t n_bytes)
{
    Exchange exchange(call);
    exchange.request.head.call = SYS_readlink;
    exchange.request.head.args[2] = n_bytes;
    if (path[0] != '/' || !add_path(exchange, path))
        return -EACCES;
    const long result = exchange.run();
    if (result > 0)
        exchange.copy_output(into, n_bytes);
    return result;
}

long copy_descriptor(const Call& call)
{
    Exchange exchange(call);
    const long result = exchange.run(static_cast<int>(call.args[0]));
    return result < 0 ? result : exchange.file.release();
}

long send_signal(const Call& call)
{
    Exchange exchange(call);
    if (call.number == SYS_rt_tgsigqueueinfo)
        exchange.add(call.at<void>(3), sizeof(siginfo_t));
    return exchange.run();
}

long emulate(const Call& call)
{
    // fstat(3) makes this call with an empty path.
    if (call.number == SYS_newfstatat)
        return (call.args[3] & AT_EMPTY_PATH) != 0 && *call.at<const char>(1) == '\0'
                   ? (::syscall(SYS_fstat, call.args[0], call.args[2]) == 0 ? 0
                                                                            : -errno)
                   : -EACCES;
    if (::gettid() != main_thread)
        return -EPERM;
    switch (call.number) {
    case SYS_ptrace:
        return ptrace_call(call);
    case SYS_wait4:
        return wait_for_status(call);
    case SYS_waitid:
        return wait_for_report(call);
    case SYS_open:
        return open_file(call, call.at<const char>(0), call.args[1]);
    case SYS_openat:
        return open_file(call, call.at<const char>(1), call.args[2]);
    case SYS_readlink:
        return read_link(call, call.at<const char>(0), call.at<char>(1), call.args[2]);
    case SYS_readlinkat:
        return read_link(call, call.at<const char>(1), call.at<char>(2), call.args[3]);
    case SYS_pidfd_getfd:
        return copy_descriptor(call);
    case SYS_kill:
    case SYS_tgkill:
    case SYS_rt_tgsigqueueinfo:
        return send_signal(call);
    case SYS_kcmp:
        return Exchange(call).run();
    default:
        return -ENOSYS;
    }
}

// rt_sigprocmask(2) without blocking SIGSYS. The kernel would end the agent if it made a
// relayed call while SIGSYS is blocked. Libraries block all signals for a short time, and
// call functions of the agent meanwhile.
long change_mask(const Call& call, sigset_t& mask)
{
    std::uint64_t before = 0, change = 0; // the kernel's signal set
    if (call.args[3] != sizeof before)
        return -EINVAL;
    std::memcpy(&before, &mask, sizeof before);
    if (call.args[1] != 0)
        std::memcpy(&change, call.at<const void>(1), sizeof change);
    if (call.args[2] != 0)
        std::memcpy(call.at<void>(2), &before, sizeof before);
    if (call.args[1] == 0)
        return 0;
    std::uint64_t after = change;
    if (call.args[0] == SIG_BLOCK)
        after = before | change;
    else if (call.args[0] == SIG_UNBLOCK)
        after = before & ~change;
    else if (call.args[0] != SIG_SETMASK)
        return -EINVAL;
    after &= ~signal_bit(SIGSYS);
    std::memcpy(&mask, &after, sizeof after); // takes effect when the handler returns
    return 0;
}

void handle_call(int, siginfo_t* info, void* context)
{
    auto* interrupted = static_cast<ucontext_t*>(context);
    greg_t* regs = interrupted->uc_mcontext.gregs;
    const int before = errno;
    Call call;
    call.number = info->si_syscall;
    constexpr std::array order{REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    for (std::size_t i = 0; i < order.size(); ++i)
        call.args[i] = static_cast<std::uint64_t>(regs[order[i]]);
    call.mask = &interrupted->uc_sigmask;
    regs[REG_RAX] = call.number == SYS_rt_sigprocmask
                        ? change_mask(call, interrupted->uc_sigmask)
                        : emulate(call);
    errno = before;
}

} // namespace

bool is_in_confined_domain(pid_t pid)
{
    Call call;
    call.number = relayed_compare;
    call.args[0] = static_cast<std::uint64_t>(pid);
    return Exchange(call).run() == 1;
}

Result<Ok> relay_calls(int socket)
{
    the_socket = socket;
    main_thread = ::gettid();
    struct sigaction action {};
    action.sa_sigaction = handle_call;
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    if (::sigaction(SIGSYS, &action, nullptr) != 0)
        return errno_error("sigaction");
    return Ok{};
}

bool relays_calls()
{
    return the_socket >= 0;
}

// Returns a result, or stores the error in errno and returns -1.
static long result_of(long result)
{
    if (result < 0)
        errno = static_cast<int>(-result);
    return result < 0 ? -1 : result;
}

static std::uint64_t word(const void* at)
{
    return reinterpret_cast<std::uint64_t>(at);
}

long relay_ptrace(int request, pid_t tid, std::uint64_t addr, void* data)
{
    Call call;
    call.number = SYS_ptrace;
    call.args = {static_cast<std::uint64_t>(request), static_cast<std::uint64_t>(tid),
                 addr, word(data)};
    return result_of(ptrace_call(call));
}

int relay_waitid(idtype_t type, id_t id, siginfo_t& report, int options)
{
    Call call;
    call.number = SYS_waitid;
    call.args = {static_cast<std::uint64_t>(type), id, word(&report),
                 static_cast<std::uint64_t>(options)};
    return static_cast<int>(result_of(wait_for_report(call)));
}

pid_t relay_waitpid(pid_t pid, int& status, int options)
{
    Call call;
    call.number = SYS_wait4;
    call.args = {static_cast<std::uint64_t>(pid), word(&status),
                 static_cast<std::uint64_t>(options)};
    return static_cast<pid_t>(result_of(wait_for_status(call)));
}

std::vector<SeizeResult> relay_attach(pid_t pid)
{
    Call attach;
    attach.number = relayed_attach;
    attach.args = {static_cast<std::uint64_t>(pid)};
    Exchange exchange(attach);
    if (const long error = exchange.run(); error < 0)
        return {{pid, static_cast<int>(-error)}};
    std::vector<SeizeResult> results(
        std::min(exchange.reply.head.n_bytes / sizeof(SeizeResult), max_attached));
    exchange.copy_output(results.data(), results.size() * sizeof(SeizeResult));
    return results;
}

void settle_calls()
{
    if (the_socket < 0 || ::gettid() != main_thread ||
        (!is_unsettled && batch.head.n_bytes == 0))
        return;
    Call settle;
    settle.number = relayed_settle;
    Exchange(settle).run();
}

Fd relay_rule_reader()
{
    Call start;
    start.number = relayed_rules;
    Exchange exchange(start);
    return exchange.run() < 0 ? Fd() : std::move(exchange.file);
}

ssize_t write_memory(int mem, const void* from, std::size_t n_bytes, std::uint64_t at)
{
    settle_calls();
    return ::pwrite(mem, from, n_bytes, static_cast<off_t>(at));
}

} // namespace dt::agent
