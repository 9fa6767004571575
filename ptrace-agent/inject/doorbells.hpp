// SPDX-License-Identifier: MIT
// The bells of a runtime: how its threads ask us something and wait, harmlessly.
//
//   runtime: write ──> write-protected page ──> waits in the kernel ──────────> goes on
//   agent:                 userfaultfd: which bell, whose word, which thread ──> let_go()
//
// (runtime.h, "Asking the agent".) The descriptor is made in the target and belongs to
// its address space; only we hold it, so that the kernel lets everybody go on when we are
// gone. While it is made, another process of the target's user can copy it, make its
// reads block or take its messages. So a read that blocks is interrupted, and the
// bells then count as tampered with. Needs Linux 5.18 (exact addresses of faults), and no privilege: faults of system
// calls are not asked for. A forked child has no bells.
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
    std::uint32_t bell;  // 0 or 1, or DT_RT_N_BELLS: somebody waits at the gate
    std::uint32_t shard; // of a bell: whose call it is
    pid_t tid;           // as the target's pid namespace counts
};

class Bells {
public:
    // userfault: the target's, not yet used. The pages at `at` are there (they were
    // written to). Afterwards both bells are protected and the gate is open.
    Result<Ok> hang(Fd userfault, TargetAddr at);
    void take_down()
    {
        fd_.reset();
        tampered_ = false;
    }
    bool are_hung() const { return static_cast<bool>(fd_); }

    std::optional<Ring> next(); // one that rang, without waiting
    // Returns whether reads of the descriptor block, which they do not as it was made.
    // No bell is heard any more then, and who waits at one goes on without an answer.
    bool tampered() const { return tampered_; }
    // Whoever waits at this bell goes on; the other one is protected before.
    void let_go(std::uint32_t bell);
    // While it is shut, who comes to the gate waits.
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

// userfaultfd(2)'s flags for the call that is made in the target.
std::uint64_t bells_flags();

} // namespace dt::agent
