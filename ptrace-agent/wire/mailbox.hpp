// SPDX-License-Identifier: MIT
// The agent's end of the socket, for a thread that sleeps in waitpid().
//
// Input: the socket raises a signal when data arrives (O_ASYNC), which interrupts
// waitpid(). If the handler only set a flag, a signal between the check of the flag and
// the start of waitpid() would be lost. So the handler also starts a timer of one
// millisecond, and the timer's signal runs the handler again. This repeats until rang()
// is called.
//
// Output: replies and events are kept here while the client does not read, because a
// target must never wait for a stopped consumer. No function waits for the socket.
#pragma once

#include "base/fd.hpp"
#include "ptrace-agent/wire/protocol.hpp"

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
    explicit Mailbox(Fd socket);

    // To ring means to interrupt waitpid() and to make rang() return true. Returns
    // whether something has rung since the last call: input, space for output, a timer,
    // another descriptor, or SIGTERM.
    static bool rang();
    // Waits until something rings, or until the timeout has passed. If the timeout is
    // negative, waits without a limit.
    static void wait_for_ring(int timeout_ms);
    // Rings after this time, and then every millisecond until rang() is called.
    static void ring_in_ms(int ms);

    // Rings at this CLOCK_MONOTONIC time; 0 cancels the ring.
    static void ring_at(std::uint64_t when_ns);

    // Interrupts blocking system calls of the agent's main thread at this interval; 0
    // turns this off.
    static void interrupt_every_ms(int ms);

    // Rings whenever this descriptor becomes readable, until it is closed.
    static void ring_for(int fd);

    void receive();                // reads what has arrived, without waiting
    std::optional<Request> next(); // the next complete request
    bool closed() const;           // the client has exited, or SIGTERM was received
    void send(std::uint32_t word, const std::vector<std::byte>& body);
    void flush(); // sends as much as the socket accepts

private:
    Fd socket_;
    bool eof_ = false;
    std::vector<std::byte> in_, out_;
    std::vector<Fd> fds_;
};

} // namespace dt::agent
