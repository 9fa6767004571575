// SPDX-License-Identifier: MIT
// Doorbells: how threads in the runtime send the agent a request and wait until it is
// served.
//
//   runtime: write ──> write-protected page ──> waits in the kernel ────────> continues
//   agent:                userfaultfd: which doorbell, address, thread ──> release()
//
// There are two doorbells (bells) and a gate, which is a third page. While the gate is
// protected, threads that leave the runtime wait there. See "Asking the agent" in
// runtime.h.
//
// The target creates the descriptor with userfaultfd(2). Only the agent keeps it, so
// the kernel lets all threads continue when the agent exits. Another process of the
// user may briefly be able to copy the descriptor, and could make the agent's reads
// block. The agent then stops using the doorbells (tampered()).
//
// Doorbells need Linux 5.18, which reports the exact addresses of faults. They need no
// privileges, because only faults in user mode are reported. A forked child has no
// doorbells.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <cstdint>
#include <optional>
#include <sys/types.h>

struct uffd_msg;

namespace dt::agent {

struct Ring {
    std::uint32_t bell;  // 0 or 1; DT_RT_N_BELLS if the thread waits at the gate
    std::uint32_t stack; // the stack that contains the request; unused at the gate
    pid_t tid;           // in the target's pid namespace
};

class Doorbells {
public:
    // Protects both doorbells and opens the gate. `userfault` is a new userfaultfd of
    // the target. The caller must have written to the pages at `at`, so that they are
    // present. If arm() fails, the doorbells remain unarmed.
    Result<Ok> arm(Fd userfault, TargetAddr at);
    void disarm()
    {
        fd_.reset();
        tampered_ = false;
    }
    bool are_armed() const { return static_cast<bool>(fd_); }

    // Returns the next doorbell that rang, or nothing. Does not wait.
    std::optional<Ring> next();
    // Returns whether another process has made the descriptor blocking. If so, the
    // doorbells are no longer served, and waiting threads continue without a reply.
    bool tampered() const { return tampered_; }
    // Lets the threads at this doorbell continue. Protects the other doorbell first, so
    // that one of the two is always protected.
    void release(std::uint32_t bell);
    // While the gate is shut, threads that reach it wait there.
    void shut_gate() { protect(DT_RT_N_BELLS, true); }
    void open_gate() { protect(DT_RT_N_BELLS, false); }

private:
    bool protect(std::uint32_t bell, bool on);
    bool read_message(uffd_msg& message);
    void give_up();

    bool tampered_ = false;
    Fd fd_;
    TargetAddr at_;
};

// Returns the flags that the target must pass to userfaultfd(2).
std::uint64_t userfault_flags();

} // namespace dt::agent
