// SPDX-License-Identifier: MIT
// Doorbells: how threads in the runtime send the agent a request and wait for it.
//
//   runtime: write ──> write-protected page ──> waits in the kernel ────────> continues
//   agent:                userfaultfd: which doorbell, address, thread ──> release()
//
// See runtime.h, "Asking the agent". The userfaultfd(2) is created in the target and
// belongs to its address space. Only the agent keeps the descriptor, so the kernel lets
// all threads continue when the agent exits.
//
// Until the target closes its own descriptor, another process of the target's user can
// copy it. That process can then make the agent's reads block, or take messages. So the
// agent interrupts a read that blocks, and from then on treats the doorbells as
// tampered with.
//
// Doorbells need Linux 5.18, which reports the exact addresses of faults. They need no
// privileges, because faults in system calls are not requested. A forked child has no
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
    std::uint32_t shard; // the shard that contains the request; unused at the gate
    pid_t tid;           // in the target's pid namespace
};

class Doorbells {
public:
    // Protects both doorbells and opens the gate. userfault: a new userfaultfd of the
    // target. The pages at `at` must be present (written to). If this fails, the
    // doorbells remain unarmed.
    Result<Ok> arm(Fd userfault, TargetAddr at);
    void disarm()
    {
        fd_.reset();
        tampered_ = false;
    }
    bool are_armed() const { return static_cast<bool>(fd_); }

    // Returns the next doorbell that rang, or nothing. Does not wait.
    std::optional<Ring> next();
    // Returns whether reads of the descriptor block, although it was created
    // non-blocking. In that case doorbells are no longer served, and waiting threads
    // continue without an answer.
    bool tampered() const { return tampered_; }
    // Lets the thread at this doorbell continue. Protects the other doorbell first.
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
