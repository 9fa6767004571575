// SPDX-License-Identifier: MIT
// The messages between a confined agent and its broker, on a SOCK_SEQPACKET socket.
//
//   request = RelayedCall, then n_bytes of input (a path, registers, a siginfo)
//   reply   = RelayedResult, then n_bytes of output
//
// A message has at most one descriptor. The agent has one request at a time.
#pragma once

#include "base/fd.hpp"

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <sys/user.h>

namespace dt::agent {

// Not a system call: compares the domain of a process with that of the agent.
constexpr std::int32_t compare_domain = -1;

struct RelayedCall {
    std::int32_t call = 0; // SYS_openat, SYS_ptrace, ..., or compare_domain
    std::uint32_t n_bytes = 0;
    // The arguments of the system call. An argument that is an address has no meaning
    // for the broker.
    std::array<std::uint64_t, 6> args{};
};

struct RelayedResult {
    std::int64_t result = 0; // the call's result, or a negated errno
    std::uint32_t n_bytes = 0;
    std::uint32_t has_file = 0; // the result is the descriptor in the message
};

constexpr std::size_t max_relayed_bytes = 4096;

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
    std::uint64_t mask;         // the signal mask
    std::uint64_t has_info = 0; // 0 in a group-stop, which has no siginfo
};
constexpr std::size_t stop_state_at = 128;

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
