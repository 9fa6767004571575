// SPDX-License-Identifier: MIT
#include "libdtrace/session/new_processes.hpp"

#include "base/clock_ns.hpp"
#include "libdtrace/session/processes/processes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <new>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace dt {

namespace {

// A new process is checked at these times after its exec.
constexpr std::array<std::uint64_t, 6> check_after_ns = {
    0, 5'000'000, 20'000'000, 100'000'000, 500'000'000, 2'000'000'000};
constexpr std::uint64_t read_every_ns = 100'000'000;
constexpr std::uint64_t answer_ns = 50'000'000;
constexpr int queue_bytes = 1 << 20;

// Returns the number of this process's subscription. The kernel's answer to the
// subscription has this number plus 1 in cn_msg::ack. In events, ack is 0. Each
// listener also receives the answers to other listeners.
std::uint32_t own_number()
{
    return static_cast<std::uint32_t>(::getpid());
}

struct Received {
    std::uint32_t ack = 0;
    proc_event event{};
};

// Returns a copy of the event in a datagram, or nullopt. The event need not be aligned.
std::optional<Received> event_in(const char* data, std::size_t bytes)
{
    if (bytes < NLMSG_HDRLEN + sizeof(cn_msg) + sizeof(proc_event))
        return std::nullopt;
    cn_msg message{};
    std::memcpy(&message, data + NLMSG_HDRLEN, sizeof message);
    if (message.id.idx != CN_IDX_PROC || message.id.val != CN_VAL_PROC)
        return std::nullopt;
    Received received;
    received.ack = message.ack;
    std::memcpy(&received.event, data + NLMSG_HDRLEN + sizeof message,
                sizeof received.event);
    return received;
}

} // namespace

void NewProcesses::begin()
{
    if (std::exchange(began_, true))
        return;
    if (!listen())
        read_proc(0, false);
}

// Subscribes to process events. Returns false if the kernel does not acknowledge the
// subscription.
bool NewProcesses::listen()
{
    Fd fd(::socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                   NETLINK_CONNECTOR));
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_groups = CN_IDX_PROC;
    if (!fd ||
        ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        return false;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &queue_bytes, sizeof queue_bytes);
    const auto wanted = PROC_CN_MCAST_LISTEN;
    alignas(nlmsghdr) std::array<char, NLMSG_SPACE(sizeof(cn_msg) + sizeof wanted)>
        wish{};
    auto* head = new (wish.data()) nlmsghdr{};
    head->nlmsg_len = NLMSG_LENGTH(sizeof(cn_msg) + sizeof wanted);
    head->nlmsg_type = NLMSG_DONE;
    auto* message = new (wish.data() + NLMSG_HDRLEN) cn_msg{};
    message->id = {CN_IDX_PROC, CN_VAL_PROC};
    message->ack = own_number();
    message->len = sizeof wanted;
    std::memcpy(message->data, &wanted, sizeof wanted);
    if (::send(fd.get(), wish.data(), head->nlmsg_len, 0) !=
        static_cast<ssize_t>(head->nlmsg_len))
        return false;
    if (!wait_for_answer(fd.get()))
        return false;
    events_ = std::move(fd);
    return true;
}

void NewProcesses::handle(const proc_event& event, std::uint64_t now_ns)
{
    if (event.what == proc_event::PROC_EVENT_EXEC)
        check_again(event.event_data.exec.process_tgid, now_ns);
}

bool NewProcesses::wait_for_answer(int fd)
{
    const std::uint64_t end_ns = monotonic_ns() + answer_ns;
    for (std::uint64_t now_ns = monotonic_ns(); now_ns < end_ns;
         now_ns = monotonic_ns()) {
        const auto left_ms = static_cast<int>((end_ns - now_ns) / 1'000'000 + 1);
        pollfd answer{fd, POLLIN, 0};
        if (::poll(&answer, 1, left_ms) <= 0)
            continue;
        alignas(nlmsghdr) char data[1024];
        ssize_t n = ::recv(fd, data, sizeof data, 0);
        if (n < 0 && errno == ENOBUFS) { // some events were lost
            read_proc(now_ns, true);
            continue;
        }
        auto received =
            event_in(data, static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        if (!received)
            continue;
        handle(received->event, now_ns);
        if (received->event.what == proc_event::PROC_EVENT_NONE &&
            received->ack == own_number() + 1)
            return received->event.event_data.ack.err == 0;
    }
    return false;
}

void NewProcesses::read_events(std::uint64_t now_ns)
{
    for (;;) {
        alignas(nlmsghdr) char data[1024];
        ssize_t n = ::recv(events_.get(), data, sizeof data, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == ENOBUFS) { // some events were lost
            read_proc(now_ns, true);
            continue;
        }
        if (n <= 0)
            return;
        auto received = event_in(data, static_cast<std::size_t>(n));
        if (received)
            handle(received->event, now_ns);
    }
}

void NewProcesses::read_proc(std::uint64_t now_ns, bool all_are_new)
{
    const bool first = known_.empty();
    std::map<pid_t, Program> now;
    for (pid_t pid : pids_in_proc()) {
        struct stat file {};
        Program program; // stays empty if the exe link may not be read
        if (::stat(("/proc/" + std::to_string(pid) + "/exe").c_str(), &file) == 0)
            program = {file.st_dev, file.st_ino};
        auto before = known_.find(pid);
        if (all_are_new ||
            (!first && (before == known_.end() || before->second != program)))
            checks_[pid] = {now_ns, 0};
        now.emplace(pid, program);
    }
    if (!events_)
        known_ = std::move(now);
    read_at_ = now_ns;
}

std::vector<pid_t> NewProcesses::due(std::uint64_t now_ns)
{
    std::vector<pid_t> pids;
    if (!began_)
        return pids;
    if (events_)
        read_events(now_ns);
    else if (now_ns - read_at_ >= read_every_ns)
        read_proc(now_ns, false);
    for (auto at = checks_.begin(); at != checks_.end();) {
        auto& [pid, checks] = *at;
        const std::size_t n_before = checks.n_done;
        while (checks.n_done < check_after_ns.size() &&
               now_ns - checks.since >= check_after_ns[checks.n_done])
            ++checks.n_done;
        if (checks.n_done != n_before)
            pids.push_back(pid);
        at = checks.n_done == check_after_ns.size() ? checks_.erase(at) : std::next(at);
    }
    return pids;
}

} // namespace dt
