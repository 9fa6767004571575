// SPDX-License-Identifier: MIT
#include "libdtrace/symbols/reader/reader_process.hpp"

#include "base/clock_ns.hpp"
#include "base/message.hpp"
#include "libdtrace/symbols/debug/debug_folders.hpp"
#include "libdtrace/symbols/reader/protocol.hpp"
#include "process/jail/start_jailed.hpp"
#include "process/killed_children.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace dt {

namespace {

constexpr int poll_ms = 100;
constexpr std::uint64_t reap_ns = 1'000'000'000;

} // namespace

Result<std::unique_ptr<ReaderProcess>>
ReaderProcess::start(std::function<void(Fd)> serve, Limits limits)
{
    reap_killed_children(); // so that the end of a session need not wait for them
    auto started = start_jailed("dtrace-reader", serve, Parent::caller);
    if (!started)
        return started.error().during("start a symbol reader");
    return std::unique_ptr<ReaderProcess>(
        new ReaderProcess(std::move(started->socket), started->pid, limits));
}

ReaderProcess::ReaderProcess(Fd socket, pid_t pid, Limits limits)
    : pid_(pid), limits_(limits),
      channel_(std::move(socket),
               [this](int fd, short events) { return wait(fd, events); })
{
}

ReaderProcess::~ReaderProcess()
{
    if (ended_)
        return;
    ::kill(pid_, SIGKILL);
    reap_later(pid_);
}

// Returns the CPU time of the process. Returns 0 if it cannot be read.
std::uint64_t ReaderProcess::cpu_ns() const
{
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(pid_, &clock) != 0 || ::clock_gettime(clock, &used) != 0)
        return 0;
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(used.tv_nsec);
}

// Waits for the process, which has exited or was killed. Returns a description of its
// status. Waits at most one second, because a killed process may be inside an
// uninterruptible read.
std::string ReaderProcess::reap()
{
    const std::optional<int> status = reap_within(pid_, reap_ns);
    if (!status) {
        ::kill(pid_, SIGKILL); // it may have closed its socket without exiting
        return "ended the reader";
    }
    if (WIFSIGNALED(*status))
        return "ended the reader (signal " + std::to_string(WTERMSIG(*status)) + ")";
    return "ended the reader (exit status " + std::to_string(WEXITSTATUS(*status)) +
           ")";
}

Error ReaderProcess::end(std::string why)
{
    if (!ended_) {
        ended_ = true;
        if (!why.empty())
            ::kill(pid_, SIGKILL);
        const std::string status = reap();
        why_ended_ = why.empty() ? status : std::move(why);
    }
    return {Code::gone, why_ended_};
}

Error ReaderProcess::give_up(const char* what, std::uint64_t limit_ns, const char* rest)
{
    timed_out_ = true;
    return end(std::string(what) + " " + std::to_string(limit_ns / 1'000'000'000) +
               " s" + (*rest != '\0' ? " " : "") + rest);
}

void ReaderProcess::begin_wait()
{
    requested_at_ns_ = clock_ns(CLOCK_MONOTONIC);
    cpu_at_request_ns_ = cpu_ns();
}

Result<Ok> ReaderProcess::wait(int socket, short events)
{
    std::uint64_t last_cpu = cpu_ns(), idle_since = clock_ns(CLOCK_MONOTONIC);
    for (;;) {
        pollfd ready{socket, events, 0};
        const bool is_ready = ::poll(&ready, 1, poll_ms) > 0;
        const std::uint64_t now = clock_ns(CLOCK_MONOTONIC), cpu = cpu_ns();
        if (is_ready && now - requested_at_ns_ <= limits_.total_ns)
            return Ok{};
        if (cpu != last_cpu) {
            last_cpu = cpu;
            idle_since = now;
        }
        if (cpu - std::min(cpu, cpu_at_request_ns_) > limits_.cpu_ns)
            return give_up("took more than", limits_.cpu_ns, "of CPU time to read");
        if (now - idle_since > limits_.idle_ns)
            return give_up("could not be read within", limits_.idle_ns);
        if (now - requested_at_ns_ > limits_.total_ns)
            return give_up("could not be read within", limits_.total_ns);
    }
}

// Answers a request of the reader. The reader can request any path. open_file() decides
// whether the reader receives the file.
Result<Ok> ReaderProcess::serve(const ReaderMessage& request, const OpenFile& open_file)
{
    MessageWriter out;
    if (request.word == reader_wants_file) {
        MessageReader in(request.body);
        const std::string path = in.text();
        const Fd file = in.ok() ? open_file(path) : Fd();
        return channel_.send(reader_ok, {}, file.get());
    }
    out.text(request.fd ? path_of(request.fd) : std::string());
    return channel_.send(reader_ok, out.body());
}

Result<ReaderMessage> ReaderProcess::call(std::uint32_t request,
                                          std::span<const std::byte> body, int fd,
                                          const OpenFile& open_file)
{
    if (auto posted = post(request, body, fd); !posted)
        return posted.error();
    return finish(open_file);
}

Result<Ok> ReaderProcess::post(std::uint32_t request, std::span<const std::byte> body,
                               int fd)
{
    if (ended_)
        return Error{Code::gone, why_ended_};
    begin_wait();
    if (!channel_.send(request, body, fd))
        return end("");
    return Ok{};
}

Result<ReaderMessage> ReaderProcess::finish(const OpenFile& open_file)
{
    if (ended_)
        return Error{Code::gone, why_ended_};
    begin_wait();
    for (;;) {
        auto reply = channel_.receive();
        if (!reply)
            return end(reply.error().code == Code::gone ? ""
                                                        : "made the reader send an "
                                                          "invalid message");
        if (reply->word == reader_ok)
            return reply;
        if (reply->word == reader_error) {
            MessageReader in(reply->body);
            Error error = read_error(in);
            if (error.code == Code::gone)
                error.code = Code::corrupt;
            return error;
        }
        if (reply->word != reader_wants_file && reply->word != reader_wants_path)
            return end("made the reader send an invalid message");
        if (!serve(*reply, open_file))
            return end("");
    }
}

} // namespace dt
