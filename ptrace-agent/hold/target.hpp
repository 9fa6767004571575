// SPDX-License-Identifier: MIT
// A traced process and its threads, as the agent knows them.
//
//   Process 1 ──< Thread        (ptrace holds threads, one by one)
//           n >── 1 AddressSpace
//
// A thread runs until the kernel reports a stop; that stop is pending until it is handled,
// and the thread stays stopped until it is resumed:
//
//   running ──> pending ──> handled ──> running       also pending ──> running, where the
//                              └──────> listening     stop was the agent's own
//   running, listening ──> handled                    a stop that needs no handling
#pragma once

#include "fasttrap/displaced.hpp"
#include "fasttrap/further_blocks.hpp"
#include "process/wait_status.hpp"
#include "ptrace-agent/address_space.hpp"

#include <cassert>
#include <csignal>
#include <memory>
#include <optional>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unordered_map>

namespace dt::agent {

struct Process;

enum class ThreadState : std::uint8_t {
    running,
    listening, // in a group-stop, resumed by PTRACE_LISTEN
    pending,   // stopped, and the stop is still to be handled
    handled,   // stopped, and nothing is to be done about the stop
};

enum class ThreadAge : std::uint8_t {
    fresh,   // its first stop has not been handled
    newborn, // a followed child that has run nothing yet
    known,
};

// Whether a thread is detached at its next stop.
enum class Leaving : std::uint8_t {
    no,
    yes,
    late, // because it kept the agent waiting
};

// One thread on its way over the copy of an instruction.
struct Step {
    bool active = false;
    TargetAddr site; // where the tracepoint is; it may be gone when the step ends
    Displaced plan;
    SlotRun run;
    bool mask_saved = false;
    std::uint64_t mask = 0; // to be put back
};

// A handler of the program for a SIGTRAP of its own.
struct TrapHandler {
    std::uint64_t interrupted = 0; // where the program was
    std::uint64_t frame = 0;       // rsp at the handler's first instruction
};

// A signal that waits until its thread has left our code.
struct DeferredSignal {
    siginfo_t info;
    bool sent; // once more, by us: it will come with our siginfo
};

struct Thread {
    pid_t tid = 0;
    Process* process = nullptr;
    WaitStatus status; // of the last stop
    ThreadAge age = ThreadAge::fresh;
    Leaving leaving = Leaving::no;
    bool interrupted = false; // PTRACE_INTERRUPT was sent, its stop is to come
    bool in_vfork = false;    // in the kernel until its child execs or exits
    bool held = false;        // not continued until the client says so
    bool inside_exec = false; // held in the event of its exec, inside the call
    // Or then, if the client is silent (monotonic ns); 0: never.
    std::uint64_t patience_ends = 0;
    // Held for the answer to this one of its library_changes; 0: for another reason.
    int awaits = 0;
    bool under_seccomp = false;
    bool reenter = false;    // goes on with the instruction at its pc, without firing
    std::uint8_t faults = 0; // emulations of one instruction that failed
    std::vector<std::uint32_t> samples; // profile probes to fire at its next stop
    bool running_out = false;           // of our code, by run_out()
    std::uint64_t fs_base = 0;          // in the runtime's table; 0: none
    bool changes_base = false;          // the runtime cannot identify it by fs_base
    pid_t number = 0; // its tid as its pid namespace counts, 0: not asked yet
    std::vector<DeferredSignal> deferred; // that came while it was in our code
    bool crowded = false; // the kernel's queue had no room for one of them
    // The thread's state before an injected system call that did not return in time.
    struct LateCall {
        user_regs_struct regs;
        std::uint64_t mask;
    };
    std::optional<LateCall> late_call;
    std::uint64_t in_our_code_ns = 0; // monotonic; when its way out began
    std::uint32_t n_runs_out = 0;     // of it, since then
    // The address of the hit at which it stopped with the pc put back already, or 0.
    TargetAddr hit_at;
    Step step;
    TargetAddr slot_holds;                  // the site whose copy is in its slot
    std::vector<TrapHandler> trap_handlers; // of the program, entered, innermost last
    // The system call at this site was interrupted and will be restarted: its next
    // hit is no new one.
    std::optional<TargetAddr> restarting;

    ThreadState state() const { return state_; }
    // The kernel has reported a stop of it, and it has not been resumed since.
    bool is_stopped() const
    {
        return state_ == ThreadState::pending || state_ == ThreadState::handled;
    }
    bool is_pending() const { return state_ == ThreadState::pending; }
    bool is_listening() const { return state_ == ThreadState::listening; }
    void move_to(ThreadState next)
    {
        assert(next != ThreadState::listening || state_ == ThreadState::handled);
        state_ = next;
    }
    void stop(bool to_be_handled)
    {
        move_to(to_be_handled ? ThreadState::pending : ThreadState::handled);
    }

    void leave() // at its next stop
    {
        if (leaving == Leaving::no)
            leaving = Leaving::yes;
    }

    int signal() const { return status.signal(); }
    int event() const { return status.event(); } // PTRACE_EVENT_*, 0: a signal
    // Because we asked for it, in no group-stop.
    bool is_interrupt() const
    {
        return event() == PTRACE_EVENT_STOP && signal() == SIGTRAP;
    }

private:
    ThreadState state_ = ThreadState::running;
};

// The kernel's struct sigaction: handler, flags, restorer, mask.
using KernelAction = std::array<std::uint64_t, 4>;

// What the program wants SIGTRAP to do. A breakpoint hit with SIGTRAP blocked or
// ignored makes the kernel reset it, and the agent puts it back.
struct TrapAction {
    bool known = false;
    std::uint64_t handler = 0, flags = 0;
    std::uint64_t restorer = 0, mask = 0; // 0: not known, none
};

// A probed place of a parent, and what of ours its child has with its memory.
struct InheritedSite {
    Instruction insn;
    std::vector<Firing> firings;
    TargetAddr first, end, beyond;
    FurtherBlocks further{};
    TargetAddr loop_end;
    bool jump = false;
    bool may_be_breakpoint = false;
};
struct Inheritance {
    std::vector<InheritedSite> sites; // ascending by address
    std::vector<std::pair<TargetAddr, std::uint64_t>> mappings;
    Statics statics; // raised in its memory, too
};

struct Process {
    pid_t pid = 0;
    std::shared_ptr<AddressSpace> space;
    bool is_guest() const { return pid != space->owner(); } // a vfork child, say
    std::unordered_map<pid_t, std::unique_ptr<Thread>> threads;
    bool is_target = false;     // the client asked for it; others share its memory
    bool created = false;       // our child
    bool started = true;        // resume() was called
    bool to_preinit = false;    // create() waits for the libraries to be mapped
    bool arrived = false;       // at the point that create() runs it to
    bool doomed = false;        // being killed: no event
    bool planted = false;       // the client wants to hear of its libraries
    bool by_kernel = false;     // which fires its probes: nothing of ours goes into it
    std::uint32_t n_execs = 0;  // the client was told of
    int library_changes = 0;    // likewise
    int answered_change = 0;    // the last that it has answered
    bool untold_change = false; // while it is silent, and has not answered the last
    Follow follow = Follow::none; // with what its children will be targets, too
    FollowExec follow_exec = FollowExec::none;
    pid_t parent = 0;      // of a vfork child, that runs in its memory
    bool followed = false; // and it is such a child
    Inheritance inherited; // until its probes are planted
    TrapAction trap_action;
    // Signal masks seen exactly, without their SIGTRAP bit -> was SIGTRAP blocked?
    std::unordered_map<std::uint64_t, bool> trap_blocked;
};

} // namespace dt::agent
