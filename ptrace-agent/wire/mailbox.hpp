// SPDX-License-Identifier: MIT
// The agent's end of the socket, for a thread that sleeps in waitpid().
//
// Input: a signal reports new data (O_ASYNC) and interrupts waitpid(). The signal's
// handler also starts a timer of one millisecond, which runs the handler again until
// rang() is called. Otherwise a signal just before waitpid() would be lost.
//
// Output: messages are kept here while the client does not read. No function waits for
// the socket, because a target must never wait for a stopped consumer.
#pragma once

#include "base/fd.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace dt::agent {

struct Request {
    std::uint32_t word = word_none;
    std::vector<std::byte> body;
    std::vector<Fd> fds; // received with the request
};

// Returns the earlier of two times for ring_at(). The time 0 means never.
inline std::uint64_t sooner(std::uint64_t a, std::uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

class Mailbox {
public:
    // Keeps at most `max_bytes` bytes of requests, and as many of replies and events. A
    // client that causes more is disconnected.
    Mailbox(Fd socket, std::size_t max_bytes);

    // Returns whether a ring has occurred since the last call. A ring interrupts
    // waitpid(). Rings are caused by input, space for output, a timer, other
    // descriptors (ring_for()) and SIGTERM.
    static bool rang();
    // Waits until something rings, or until the timeout has passed. If the timeout is
    // negative, waits without a limit.
    static void wait_for_ring(int timeout_ms);
    // Rings after this time, and then every millisecond until rang() is called.
    static void ring_in_ms(int ms);

    // Rings at this CLOCK_MONOTONIC time; 0 cancels the ring.
    static void ring_at(std::uint64_t when_ns);

    // Interrupts system calls of the agent's main thread at this interval; 0 stops
    // this.
    static void interrupt_every_ms(int ms);

    // Rings whenever this descriptor becomes readable, until it is closed.
    static void ring_for(int fd);

    void receive();                // reads what has arrived, without waiting
    std::optional<Request> next(); // the next complete request
    bool has_next() const;         // whether next() would return a request
    bool closed() const;           // the client has exited, or SIGTERM was received
    void send(std::uint32_t word, const std::vector<std::byte>& body);
    void flush();              // sends as much as the socket accepts
    void flush_within(int ms); // waits until all is sent, or until the time has passed

private:
    Fd socket_;
    std::size_t max_bytes_;
    bool eof_ = false;
    std::vector<std::byte> in_, out_;
    std::vector<Fd> fds_;
};

} // namespace dt::agent
