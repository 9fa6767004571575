// SPDX-License-Identifier: MIT
// Starts a reader process, sends requests to it, and limits the time that a reply may
// take.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "process/jail/channel.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <sys/types.h>

namespace dt {

class ReaderProcess {
public:
    // The time that the reader may take for one request.
    struct Limits {
        std::uint64_t cpu_ns = 60'000'000'000;
        // The longest time without using CPU time, for example because a file is on a
        // FUSE file system whose server does not reply.
        std::uint64_t idle_ns = 10'000'000'000;
        // The longest time altogether, even if the reader sends requests of its own.
        std::uint64_t total_ns = 600'000'000'000;
    };

    // Forks. The child calls `serve` with its end of the socket, and exits. Returns
    // the errors of fork(2) and socketpair(2).
    static Result<std::unique_ptr<ReaderProcess>> start(std::function<void(Fd)> serve,
                                                        Limits limits);
    ~ReaderProcess(); // kills the process
    ReaderProcess(const ReaderProcess&) = delete;
    ReaderProcess& operator=(const ReaderProcess&) = delete;

    // Returns the file at a path that the reader wants to open. Returns an empty Fd if
    // the reader may not open it, or if there is none.
    using OpenFile = std::function<Fd(const std::string& path)>;

    // Sends a request and returns the reply, like post() and finish().
    Result<ReaderMessage> call(std::uint32_t request, std::span<const std::byte> body,
                               int fd, const OpenFile& open_file);
    // Sends a request. Several requests may be sent before the first reply is
    // received. Together they must be small, because the reader does not receive while
    // it waits to send a reply. Returns Code::gone as finish() does.
    Result<Ok> post(std::uint32_t request, std::span<const std::byte> body, int fd);
    // Serves the reader's own requests, and returns the reply to the first request
    // whose reply was not received yet. If the process has ended or was killed, returns
    // Code::gone, and why_ended() returns the reason. All other errors are the reader's
    // reply.
    Result<ReaderMessage> finish(const OpenFile& open_file);

    bool ended() const { return ended_; }
    // Returns why the process has ended, for example "ended the reader (signal 11)".
    const std::string& why_ended() const { return why_ended_; }
    // Returns whether the reader was killed because a request exceeded the limits.
    bool timed_out() const { return timed_out_; }
    pid_t pid() const { return pid_; }

private:
    ReaderProcess(Fd socket, pid_t pid, Limits limits);
    void begin_wait();
    Result<Ok> wait(int socket, short events);
    Error end(std::string why);
    // Kills the process, because it exceeded a limit.
    Error give_up(const char* what, std::uint64_t limit_ns, const char* rest = "");
    std::string reap();
    std::uint64_t cpu_ns() const;
    Result<Ok> serve(const ReaderMessage& request, const OpenFile& open_file);

    pid_t pid_;
    Limits limits_;
    // The time, and the CPU time of the process, when the last request was sent, or the
    // wait for a reply began.
    std::uint64_t requested_at_ns_ = 0, cpu_at_request_ns_ = 0;
    Channel channel_;
    bool ended_ = false, timed_out_ = false;
    std::string why_ended_;
};

} // namespace dt
