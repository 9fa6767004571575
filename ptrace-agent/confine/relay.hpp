// SPDX-License-Identifier: MIT
// The messages between a confined agent and its broker, on a SOCK_SEQPACKET socket.
//
//   request = RelayedCall, then n_bytes of input (a path, registers, a siginfo)
//   reply   = RelayedResult, then n_bytes of output
//
// A message has at most one descriptor. Each request has one reply, with two exceptions:
//
//   relayed_batch   The input is a list of calls, each with its own input. The broker
//                   executes them in this order, ignores their results, and sends no
//                   reply.
//   relayed_await   A wait for a stop or an exit, with the arguments of waitid(2). The
//                   broker replies when there is something to report. The last argument
//                   is a number, which the reply repeats. If the agent sends another
//                   relayed_await, the broker forgets the earlier one.
//
// Four requests are not system calls:
//
//   relayed_settle  Has no effect, and has an empty reply. The broker handles all
//                   messages in the order in which they were sent.
//   relayed_compare Replies 1 if a process is in the trust domain of the agent's
//                   targets, otherwise 0.
//   relayed_rules   Starts a rule reader (rules/rule_reader.hpp). The reply contains its
//                   socket.
//   relayed_attach  Attaches to the threads of a process. The output is the list of
//                   results (SeizeResult) of seize_threads() (hold/seize.hpp).
#pragma once

#include "base/fd.hpp"
#include "process/wait_status.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/user.h>

namespace dt::agent {

constexpr std::int32_t relayed_batch = -1, relayed_await = -2, relayed_settle = -3,
                       relayed_compare = -4, relayed_rules = -5, relayed_attach = -6;

struct RelayedCall {
    std::int32_t call = 0; // SYS_openat, SYS_ptrace, ..., or one of the above
    std::uint32_t n_bytes = 0;
    // The arguments of the system call. An argument that is an address has no meaning
    // for the broker.
    std::array<std::uint64_t, 6> args{};
};

struct RelayedResult {
    std::int64_t result = 0; // the call's result, or a negated errno
    std::uint32_t n_bytes = 0;
    std::uint32_t has_file = 0;     // the result is the descriptor in the message
    std::uint64_t await_number = 0; // of a relayed_await, otherwise 0
};

constexpr std::size_t max_relayed_bytes = 4096;

// The result of an attempt to attach to a thread: 0, or an errno.
struct SeizeResult {
    pid_t tid = 0;
    int error = 0;
};
// The maximum number of results of a relayed_attach. While the broker attaches, it makes
// no other calls.
constexpr std::size_t max_attached = 256;
static_assert(max_attached * sizeof(SeizeResult) <= max_relayed_bytes);

// A message with its bytes and its descriptor. Signal handlers may use it.
template <class Head> struct RelayMessage {
    Head head;
    std::array<std::byte, max_relayed_bytes> bytes;

    // Sends the message with a descriptor, or without one if `file` is negative. Returns
    // false if the other process has exited.
    bool send(int socket, int file = -1);
    // Waits for a message. Returns false if the other process has exited, or if the
    // message is malformed.
    bool receive(int socket, Fd& file);
    std::span<const std::byte> data() const
    {
        return std::span(bytes).first(head.n_bytes);
    }
};

using RelayRequest = RelayMessage<RelayedCall>;
using RelayReply = RelayMessage<RelayedResult>;

// The state of a stopped thread. The broker adds it to the reply of a wait, at the offset
// `stop_state_at`, because the agent nearly always reads it next.
struct StopState {
    user_regs_struct regs;
    siginfo_t info;
    std::uint64_t mask;          // the signal mask
    std::uint32_t has_info = 0;  // 0 in a group-stop, which has no siginfo
    std::uint32_t may_queue = 0; // 0 if no signal is queued for the thread
};
constexpr std::size_t stop_state_at = 128;

// Returns the status that waitpid(2) would store for a report of waitid(2).
WaitStatus reported_status(const siginfo_t& report);

// The number of bytes that a request of ptrace(2) reads from the address `data`, and
// the number that it writes there.
struct PtraceBuffers {
    std::size_t in_bytes = 0, out_bytes = 0;
};

// When the broker permits a request of ptrace(2).
enum class PtraceKind : std::uint8_t {
    unknown,  // not permitted
    attaches, // PTRACE_SEIZE
    any_time, // the thread need not be stopped
    while_stopped,
    resumes, // the thread is no longer stopped after the request
};

struct PtraceRequest {
    PtraceKind kind = PtraceKind::unknown;
    PtraceBuffers buffers;
};

// `addr` is the request's third argument.
PtraceRequest ptrace_request(std::uint64_t request, std::uint64_t addr);

constexpr std::size_t peek_arguments_bytes = 16; // struct __ptrace_peeksiginfo_args
constexpr std::size_t max_peeked = 16;

} // namespace dt::agent
