// SPDX-License-Identifier: MIT
// Doorbells: how threads in the runtime send the agent a request and wait for it.
//
//   runtime: write ──> write-protected page ──> waits in the kernel ─────────> continues
//   agent:                 userfaultfd: which doorbell, address, thread ──> release()
//
// (runtime.h, "Asking the agent".) The userfaultfd(2) is created in the target and belongs
// to its address space. Only the agent keeps it, so the kernel lets all threads continue
// when the agent is gone. While it is created, another process of the target's user can
// copy it, make its reads block or take its messages. So a read that blocks is interrupted,
// and the doorbells then count as tampered with.
//
// Needs Linux 5.18 (exact addresses of faults), and no privilege, because faults of system
// calls are not requested. A forked child has no doorbells.
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
    std::uint32_t bell;  // 0 or 1; DT_RT_N_BELLS: the thread waits at the gate
    std::uint32_t shard; // the shard whose request it is; for doorbells only
    pid_t tid;           // in the target's pid namespace
};

class Doorbells {
public:
    // userfault: a descriptor of the target that is not used yet. The pages at `at` must be
    // present (written to). Afterwards both doorbells are protected and the gate is open.
    Result<Ok> arm(Fd userfault, TargetAddr at);
    void disarm()
    {
        fd_.reset();
        tampered_ = false;
    }
    bool are_armed() const { return static_cast<bool>(fd_); }

    std::optional<Ring> next(); // a doorbell that rang; does not wait
    // Returns whether reads of the descriptor block, although it was created without
    // blocking. Then no doorbell is served any more, and waiting threads continue without
    // an answer.
    bool tampered() const { return tampered_; }
    // Lets the thread at this doorbell continue. Protects the other doorbell first.
    void release(std::uint32_t bell);
    // A thread that reaches the gate waits while it is shut.
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

// Returns the flags for the call of userfaultfd(2) in the target.
std::uint64_t userfault_flags();

} // namespace dt::agent
