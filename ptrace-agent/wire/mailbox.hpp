// SPDX-License-Identifier: MIT
// The agent's end of the socket, for a thread that sleeps in waitpid().
//
// Input: the socket raises a signal when something arrives (O_ASYNC). A handler that
// only sets a flag would be lost when the signal comes between looking at the flag and
// falling asleep, so the handler also starts a timer that rings once more, every
// millisecond until has_mail() is looked at. waitpid() is interrupted by either.
//
// Output: replies and events are kept here while the client does not read, because a
// target must never wait for a consumer that is stopped. Nothing blocks.
#pragma once

#include "base/fd.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <optional>
#include <vector>

namespace dt::agent {

struct Request {
    std::uint32_t word = word_none;
    std::vector<std::byte> body;
    std::vector<Fd> fds; // as many as its header says
};

// Of two times as ring_at() takes them.
inline std::uint64_t sooner(std::uint64_t a, std::uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

class Mailbox {
public:
    explicit Mailbox(Fd socket);

    // Something rang since the last look: mail, room for output, or SIGTERM.
    static bool rang();
    static void wait_for_ring(int timeout_ms); // returns early when something rings
    // Makes waitpid() return after about this long, again and again until rang().
    static void ring_in_ms(int ms);

    // Rings once at this monotonic time, ns; 0: not at all.
    static void ring_at(std::uint64_t when_ns);

    // Interrupts the calling thread's blocking system calls every so many milliseconds;
    // 0: no longer.
    static void interrupt_every_ms(int ms);

    // Rings whenever there is something to read from this descriptor, until it is closed.
    static void ring_for(int fd);

    void receive();                // what has arrived, without waiting
    std::optional<Request> next(); // a whole request
    bool closed() const;           // the client is gone, or SIGTERM came
    void send(std::uint32_t word, const std::vector<std::byte>& body);
    void flush();

private:
    Fd socket_;
    bool eof_ = false;
    std::vector<std::byte> in_, out_;
    std::vector<Fd> fds_;
};

} // namespace dt::agent
