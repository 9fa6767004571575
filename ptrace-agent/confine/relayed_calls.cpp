// SPDX-License-Identifier: MIT
#include "ptrace-agent/confine/relayed_calls.hpp"

#include "base/seccomp_filter.hpp"
#include "ptrace-agent/confine/relay.hpp"
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

int the_socket = -1, the_bell = -1;
pid_t main_thread = 0;

struct Call {
    int number = 0;
    std::array<std::uint64_t, 6> args{};
    const sigset_t* mask = nullptr; // the thread's signal mask before SIGSYS
    template <class T> T* at(std::size_t n) const
    {
        return reinterpret_cast<T*>(args[n]);
    }
};

// Sends the request in `message` and stores the reply in it. Returns the result. If the
// broker has exited, its targets are no longer traced, and the agent can do nothing more.
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
    long run(int sent = -1)
    {
        if (sent >= 0 && ::fcntl(sent, F_GETFD) < 0)
            return -EBADF;
        if (!request.send(the_socket, sent) || !reply.receive(the_socket, file))
            ::_exit(1);
        return static_cast<long>(reply.head.result);
    }
    void copy_output(void* to, std::size_t max) const
    {
        if (to != nullptr)
            std::memcpy(to, reply.bytes.data(),
                        std::min<std::size_t>(max, reply.head.n_bytes));
    }
};

// The state of the thread that was reported last, until a request may change it.
pid_t cached_thread = 0;
StopState cached{};

void keep_state(pid_t tid, const RelayReply& reply)
{
    cached_thread = 0;
    if (reply.head.n_bytes != stop_state_at + sizeof cached)
        return;
    std::memcpy(&cached, reply.bytes.data() + stop_state_at, sizeof cached);
    cached_thread = tid;
}

// Answers a request from the cached state. Returns false if the broker must be asked.
bool read_cached(const Call& call)
{
    if (cached_thread == 0 || call.args[1] != static_cast<std::uint64_t>(cached_thread))
        return false;
    switch (call.args[0]) {
    case PTRACE_GETREGS:
        std::memcpy(call.at<void>(3), &cached.regs, sizeof cached.regs);
        return true;
    case PTRACE_GETSIGINFO:
        if (cached.has_info != 0)
            std::memcpy(call.at<void>(3), &cached.info, sizeof cached.info);
        return cached.has_info != 0;
    case PTRACE_GETSIGMASK:
        if (call.args[2] == sizeof cached.mask)
            std::memcpy(call.at<void>(3), &cached.mask, sizeof cached.mask);
        return call.args[2] == sizeof cached.mask;
    case PTRACE_GETFPREGS:
    case PTRACE_GETEVENTMSG:
    case PTRACE_PEEKSIGINFO:
        return false;
    default:
        cached_thread = 0; // the request may change the state
        return false;
    }
}

long ptrace_call(const Call& call)
{
    if (read_cached(call))
        return 0;
    const PtraceRequest kind = ptrace_request(call.args[0], call.args[2]);
    if (kind.kind == PtraceKind::unknown)
        return -EPERM;
    Exchange exchange(call);
    if (kind.buffers.in_bytes != 0)
        exchange.add(call.at<void>(call.args[0] == PTRACE_PEEKSIGINFO ? 2 : 3),
                     kind.buffers.in_bytes);
    const long result = exchange.run();
    if (result >= 0)
        exchange.copy_output(call.at<void>(3), kind.buffers.out_bytes);
    return result;
}

// Waits until the broker rings the bell, or until a signal arrives. The thread's
// earlier signal mask is in effect during the wait.
bool await_bell(const Call& call)
{
    pollfd bell{the_bell, POLLIN, 0};
    pollfd fds[] = {bell, {the_socket, 0, 0}}; // the socket reports the broker's exit
    if (::ppoll(fds, 2, nullptr, call.mask) < 0)
        return false;
    std::uint64_t n_rings = 0;
    (void)!::read(the_bell, &n_rings, sizeof n_rings);
    if (fds[1].revents != 0)
        ::_exit(1);
    return true;
}

long wait_for_status(const Call& call)
{
    for (;;) {
        Exchange exchange(call);
        const long result = exchange.run();
        if (result > 0) {
            exchange.copy_output(call.at<void>(1), sizeof(int));
            keep_state(static_cast<pid_t>(result), exchange.reply);
        }
        if (result != 0 || (call.args[2] & WNOHANG) != 0)
            return result;
        if (!await_bell(call))
            return -EINTR;
    }
}

long wait_for_report(const Call& call)
{
    for (;;) {
        Exchange exchange(call);
        const long result = exchange.run();
        siginfo_t report{};
        exchange.copy_output(&report, sizeof report);
        if (result != 0 || report.si_pid != 0 || (call.args[3] & WNOHANG) != 0) {
            if (result == 0 && call.args[2] != 0)
                std::memcpy(call.at<void>(2), &report, sizeof report);
            if (result == 0 && report.si_pid != 0)
                keep_state(report.si_pid, exchange.reply);
            return result;
        }
        if (!await_bell(call))
            return -EINTR;
    }
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
    call.number = compare_domain;
    call.args[0] = static_cast<std::uint64_t>(pid);
    return Exchange(call).run() == 1;
}

Result<Ok> relay_calls(int socket, int bell)
{
    the_socket = socket;
    the_bell = bell;
    main_thread = ::gettid();
    struct sigaction action {};
    action.sa_sigaction = handle_call;
    action.sa_flags = SA_SIGINFO;
    sigfillset(&action.sa_mask);
    if (::sigaction(SIGSYS, &action, nullptr) != 0)
        return errno_error("sigaction");
    return Ok{};
}

} // namespace dt::agent
