// SPDX-License-Identifier: MIT
#include "ptrace-agent/wire/mailbox.hpp"

#include "base/clock_ns.hpp"
#include "base/fd_message.hpp"
#include "base/no_signals.hpp"
#include "base/signal_timer.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <iterator>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

namespace dt::agent {

// The limit for one client, so that it cannot exhaust the agent's descriptors.
constexpr std::size_t max_fds = 16;

static volatile sig_atomic_t rung;
static volatile sig_atomic_t terminated;

static void ring_again(int ms)
{
    itimerval soon{};
    soon.it_value.tv_usec = ms * 1000;
    setitimer(ITIMER_REAL, &soon, nullptr); // a bare system call, safe in a handler
}

static void on_ring(int signal)
{
    if (signal == SIGTERM)
        terminated = 1;
    rung = 1;
    ring_again(1);
}

Mailbox::Mailbox(Fd socket, std::size_t max_bytes)
    : socket_(std::move(socket)), max_bytes_(max_bytes)
{
    rung = 1; // input may have arrived before the handlers are installed
    struct sigaction action = {};
    action.sa_handler = on_ring; // without SA_RESTART, so that waitpid() returns
    sigfillset(&action.sa_mask);
    for (int signal : {SIGIO, SIGALRM, SIGTERM})
        sigaction(signal, &action, nullptr);
    fcntl(socket_.get(), F_SETOWN, getpid());
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK | O_ASYNC);
}

bool Mailbox::rang()
{
    if (rung == 0)
        return false;
    // Clear the flag before the timer is stopped. A ring in between then sets the flag
    // again, so it is not lost.
    rung = 0;
    itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    return true;
}

void Mailbox::wait_for_ring(int timeout_ms)
{
    sigset_t bells, before;
    sigemptyset(&bells);
    for (int signal : {SIGIO, SIGALRM, SIGTERM})
        sigaddset(&bells, signal);
    sigprocmask(SIG_BLOCK, &bells, &before);
    timespec timeout{timeout_ms / 1000, (timeout_ms % 1000) * 1000000L};
    if (rung == 0)
        ppoll(nullptr, 0, timeout_ms < 0 ? nullptr : &timeout, &before);
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

void Mailbox::ring_in_ms(int ms)
{
    ring_again(ms);
}

// Only the main thread receives the signal, because helper threads block all signals.
static std::optional<timer_t> alarm_timer()
{
    return make_signal_timer(SIGALRM);
}

void Mailbox::interrupt_every_ms(int ms)
{
    static const std::optional<timer_t> timer = alarm_timer();
    if (!timer)
        return;
    itimerspec every{};
    every.it_value.tv_nsec = every.it_interval.tv_nsec = ms * 1000000L;
    timer_settime(*timer, 0, &every, nullptr);
}

void Mailbox::ring_at(std::uint64_t when_ns)
{
    static const std::optional<timer_t> timer = alarm_timer();
    if (!timer)
        return;
    itimerspec at{};
    at.it_value.tv_sec = static_cast<time_t>(when_ns / 1'000'000'000);
    at.it_value.tv_nsec = static_cast<long>(when_ns % 1'000'000'000);
    timer_settime(*timer, TIMER_ABSTIME, &at, nullptr);
}

// Sends SIGIO to the agent's main thread when a descriptor becomes readable. Runs in
// its own thread, because waitpid() cannot wait for a descriptor and userfaultfd(2)
// raises no signal.
static void ring_for_all(int epoll, pid_t agent)
{
    epoll_event event{};
    for (;;) {
        if (epoll_wait(epoll, &event, 1, -1) == 1)
            syscall(SYS_tgkill, agent, agent, SIGIO);
        else if (errno != EINTR)
            return;
    }
}

void Mailbox::ring_for(int fd)
{
    static const int epoll = [] {
        int made = epoll_create1(EPOLL_CLOEXEC);
        NoSignals here;
        std::thread(ring_for_all, made, getpid()).detach();
        return made;
    }();
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

void Mailbox::receive()
{
    std::byte buffer[65536];
    while (!eof_ && in_.size() < max_bytes_) {
        std::array<Fd, max_fds_of_message> arrived;
        const ReceivedFds received = receive_with_fds(socket_.get(), buffer, arrived);
        if (received.n_bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (received.n_bytes <= 0 || received.has_more) {
            eof_ = true;
            break;
        }
        for (std::size_t i = 0; i < received.n_fds; ++i)
            fds_.push_back(std::move(arrived[i]));
        in_.insert(in_.end(), buffer, buffer + received.n_bytes);
        // A client waits for each reply, so it never has more descriptors on their way.
        if (fds_.size() > max_fds)
            eof_ = true;
    }
    flush();
}

bool Mailbox::has_next() const
{
    Header header;
    if (in_.size() < sizeof header)
        return false;
    std::memcpy(&header, in_.data(), sizeof header);
    return header.bytes <= max_body_bytes && in_.size() - sizeof header >= header.bytes;
}

std::optional<Request> Mailbox::next()
{
    Header header;
    if (in_.size() < sizeof header)
        return std::nullopt;
    std::memcpy(&header, in_.data(), sizeof header);
    if (header.bytes > max_body_bytes || sizeof header + header.bytes > max_bytes_) {
        eof_ = true; // the peer does not follow the protocol
        return std::nullopt;
    }
    std::size_t message_bytes = sizeof header + header.bytes;
    if (in_.size() < message_bytes)
        return std::nullopt;
    Request request;
    request.word = header.word;
    auto end = in_.begin() + static_cast<ptrdiff_t>(message_bytes);
    request.body.assign(in_.begin() + sizeof header, end);
    in_.erase(in_.begin(), end);
    auto n_fds = static_cast<ptrdiff_t>(
        std::min<std::size_t>(header.n_fds, fds_.size())); // all fds have arrived
    request.fds.assign(std::make_move_iterator(fds_.begin()),
                       std::make_move_iterator(fds_.begin() + n_fds));
    fds_.erase(fds_.begin(), fds_.begin() + n_fds);
    return request;
}

bool Mailbox::closed() const
{
    return eof_ || terminated != 0;
}

void Mailbox::send(std::uint32_t word, const std::vector<std::byte>& body)
{
    Header header{word, static_cast<std::uint32_t>(body.size()), 0};
    auto* bytes = reinterpret_cast<const std::byte*>(&header);
    out_.insert(out_.end(), bytes, bytes + sizeof header);
    out_.insert(out_.end(), body.begin(), body.end());
    flush();
    if (out_.size() > max_bytes_)
        eof_ = true; // the client does not read
}

void Mailbox::flush()
{
    std::size_t sent = 0;
    while (sent < out_.size()) {
        ssize_t n =
            ::send(socket_.get(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        // If the socket is full, SIGIO will report when it has space again. If the
        // client has exited, receive() will notice.
        if (n <= 0)
            break;
        sent += static_cast<std::size_t>(n);
    }
    out_.erase(out_.begin(), out_.begin() + static_cast<ptrdiff_t>(sent));
}

void Mailbox::flush_within(int ms)
{
    const std::uint64_t end_ns =
        monotonic_ns() + static_cast<std::uint64_t>(ms) * 1'000'000;
    for (flush(); !out_.empty() && monotonic_ns() < end_ns; flush()) {
        pollfd fd{socket_.get(), POLLOUT, 0};
        if (poll(&fd, 1, ms) > 0 && (fd.revents & (POLLERR | POLLHUP)) != 0)
            return;
    }
}

} // namespace dt::agent
