// SPDX-License-Identifier: MIT
#include "ptrace-agent/confine/relay.hpp"

#include "base/fd_message.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/user.h>

namespace dt::agent {

template <class Head> bool RelayMessage<Head>::send(int socket, int file)
{
    const auto message =
        std::as_bytes(std::span(this, 1)).first(sizeof head + head.n_bytes);
    return send_with_fds(socket, message, std::span(&file, file >= 0 ? 1U : 0U)) ==
           static_cast<ssize_t>(message.size());
}

template <class Head> bool RelayMessage<Head>::receive(int socket, Fd& file)
{
    file.reset();
    const ReceivedFds received = receive_with_fds(
        socket, std::as_writable_bytes(std::span(this, 1)), std::span(&file, 1));
    const ssize_t n = received.n_bytes;
    return n >= static_cast<ssize_t>(sizeof head) && head.n_bytes <= bytes.size() &&
           n == static_cast<ssize_t>(sizeof head + head.n_bytes);
}

template struct RelayMessage<RelayedCall>;
template struct RelayMessage<RelayedResult>;

WaitStatus reported_status(const siginfo_t& report)
{
    switch (report.si_code) {
    case CLD_EXITED:
        return WaitStatus{(report.si_status & 0xff) << 8};
    case CLD_KILLED:
    case CLD_DUMPED:
        return WaitStatus{report.si_status & 0x7f};
    default:
        return WaitStatus{report.si_status << 8 | 0x7f};
    }
}

PtraceRequest ptrace_request(std::uint64_t request, std::uint64_t addr)
{
    constexpr std::uint64_t get_rseq = 0x420f; // PTRACE_GET_RSEQ_CONFIGURATION
    constexpr std::uint64_t largest_rseq = 64;
    constexpr std::size_t mask_bytes = 8;
    using enum PtraceKind;
    switch (request) {
    case PTRACE_SEIZE:
        return {attaches, {}};
    case PTRACE_INTERRUPT:
        return {any_time, {}};
    case PTRACE_CONT:
    case PTRACE_DETACH:
    case PTRACE_LISTEN:
    case PTRACE_SINGLESTEP:
    case PTRACE_SYSCALL:
        return {resumes, {}};
    case PTRACE_POKEUSER:
    case PTRACE_SETOPTIONS:
        return {while_stopped, {}};
    case PTRACE_GETREGS:
        return {while_stopped, {0, sizeof(user_regs_struct)}};
    case PTRACE_SETREGS:
        return {while_stopped, {sizeof(user_regs_struct), 0}};
    case PTRACE_GETFPREGS:
        return {while_stopped, {0, sizeof(user_fpregs_struct)}};
    case PTRACE_GETSIGINFO:
        return {while_stopped, {0, sizeof(siginfo_t)}};
    case PTRACE_SETSIGINFO:
        return {while_stopped, {sizeof(siginfo_t), 0}};
    case PTRACE_GETEVENTMSG:
        return {while_stopped, {0, sizeof(unsigned long)}};
    case PTRACE_GETSIGMASK:
        return addr == mask_bytes ? PtraceRequest{while_stopped, {0, mask_bytes}}
                                  : PtraceRequest{};
    case PTRACE_SETSIGMASK:
        return addr == mask_bytes ? PtraceRequest{while_stopped, {mask_bytes, 0}}
                                  : PtraceRequest{};
    case PTRACE_PEEKSIGINFO: // the input is at the address `addr`
        return {while_stopped, {peek_arguments_bytes, max_peeked * sizeof(siginfo_t)}};
    case get_rseq:
        return {while_stopped, {0, std::min(addr, largest_rseq)}};
    default:
        return {};
    }
}

} // namespace dt::agent
