// SPDX-License-Identifier: MIT
// The agent's records of a traced process and its threads.
//
//   Process 1 ──< Thread        (ptrace(2) attaches to threads, not to processes)
//           n >── 1 AddressSpace
//
// A reported stop is pending until it is handled. The thread then stays stopped until
// it is resumed:
//
//   running ──> pending ──> handled ──> running
//                              └──────> listening
//
// If the agent itself caused the stop, a pending thread may run again directly. If the
// stop needs no handling, a running or listening thread becomes handled directly.
#pragma once

#include "fasttrap/displaced.hpp"
#include "fasttrap/further_blocks.hpp"
#include "process/wait_status.hpp"
#include "ptrace-agent/address_space.hpp"
#include "ptrace-agent/hold/exit_attempts.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/sessions.hpp"
#include "ptrace-agent/trap/trap_records.hpp"

#include <cassert>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unordered_map>
#include <utility>

namespace dt::agent {

struct Process;

enum class ThreadState : std::uint8_t {
    running,
    listening, // in a group-stop, resumed by PTRACE_LISTEN
    pending,   // stopped, and the stop has not been handled yet
    handled,   // stopped, and the stop needs no further handling
};

enum class ThreadAge : std::uint8_t {
    fresh,   // its first stop has not been handled
    newborn, // a followed child that has not run yet
    known,
};

// Says whether a thread is detached at its next stop.
enum class Leaving : std::uint8_t {
    no,
    yes,
    late, // detached at its next stop, because it did not stop before the deadline
};

// The execution of a copied instruction in the slot of one thread.
struct Step {
    bool active = false;
    TargetAddr site; // its tracepoint may be removed before the step ends
    Displaced plan;
    SlotRun run;
    bool mask_saved = false;
    std::uint64_t mask = 0; // signal mask to restore after the step
};

// The program's SIGTRAP handler while it runs for a SIGTRAP that is not ours.
struct TrapHandler {
    std::uint64_t interrupted = 0; // pc that the signal interrupted
    std::uint64_t frame = 0;       // rsp at the handler's first instruction
};

// A signal that waits until its thread has left our code.
struct DeferredSignal {
    siginfo_t info;
    // Whether the signal has been sent to the thread again. If so, the kernel reports a
    // siginfo that differs from `info`.
    bool sent;
};

// A profile probe of a session.
struct Sample {
    unsigned session = 0;
    std::uint32_t probe = 0;
};

struct Thread {
    pid_t tid = 0;
    Process* process = nullptr;
    WaitStatus status; // status of the last stop
    ThreadAge age = ThreadAge::fresh;
    Leaving leaving = Leaving::no;
    bool interrupted = false; // PTRACE_INTERRUPT was sent but has not stopped it yet
    bool in_vfork = false;    // waits in the kernel until its child execs or exits
    bool starts = false;      // a new task; its first stop has not been handled
    bool exits = false;       // it has stopped at PTRACE_EVENT_EXIT
    // A signal. Its handler begins when the thread stops next (TaskEvents).
    std::optional<siginfo_t> begins_handler;
    bool held = false;        // not resumed until the client requests it
    bool inside_exec = false; // held at its exec event, still in execve(2)
    // Held until SelfTracing has detached from the process, or has given up.
    bool awaits_tracer = false;
    // The monotonic time at which the hold ends even if the client is silent. 0 means
    // no limit.
    std::uint64_t hold_ends_ns = 0;
    // The number of the library change that the clients must answer before the hold
    // ends. 0 means that the hold has another reason.
    int awaits = 0;
    bool under_seccomp = false;
    bool reenter = false;        // the instruction at its pc runs next, without firing
    std::uint8_t faults = 0;     // number of failed emulations of one instruction
    std::vector<Sample> samples; // profile probes to fire at its next stop
    bool running_out = false;    // RuntimeExit is making it leave our code
    std::uint64_t fs_base = 0;   // key of the thread in the runtime's table
    bool changes_base = false;   // fs_base changes, so it cannot be the key
    std::uint64_t gs_key = 0;    // the gs_base that identifies it, or 0 (ThreadBases)
    pid_t number = 0;            // its tid in its pid namespace; 0 if not read yet
    std::vector<DeferredSignal> deferred; // arrived while it was in our code
    bool queue_is_full = false;           // a deferred signal could not be queued
    // The signal with which the thread is resumed from its current stop, or 0. Set by
    // defer_signal().
    int delivers = 0;
    // The thread's state before an injected system call that did not return in time.
    struct LateCall {
        user_regs_struct regs;
        std::uint64_t mask;
    };
    std::optional<LateCall> late_call;
    ExitAttempts exit_attempts; // reset when the thread has left our code
    // The address of the breakpoint that the thread has hit, if the pc was set back to
    // that address. Otherwise 0.
    TargetAddr hit_at;
    Step step;
    TargetAddr slot_holds;                  // the site of the instruction in its slot
    std::vector<TrapHandler> trap_handlers; // still running, the innermost is last
    MaskRecords trap_masks;                 // that it has set
    bool hides_trap = false; // the kernel's mask omits SIGTRAP (TrapMask)
    // A SIGTRAP of the program is pending while the program blocks SIGTRAP, so SIGTRAP
    // is also blocked in the kernel.
    bool trap_waits = false;
    // The site of an interrupted system call that will be restarted, and the stack
    // pointer there. The next hit of the site with this stack pointer belongs to the same
    // call. A signal handler may make calls at the same site before.
    struct Restart {
        TargetAddr at, sp;
    };
    std::optional<Restart> restarting;

    ThreadState state() const { return state_; }
    // Returns whether the kernel has reported a stop and the thread has not been
    // resumed since.
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

    // Detaches the thread at its next stop.
    void leave()
    {
        if (leaving == Leaving::no)
            leaving = Leaving::yes;
    }

    int signal() const { return status.signal(); }
    int event() const { return status.event(); } // PTRACE_EVENT_*, or 0 for a signal
    // Returns whether our PTRACE_INTERRUPT caused the stop.
    bool is_interrupt() const
    {
        return event() == PTRACE_EVENT_STOP && signal() == SIGTRAP;
    }

private:
    ThreadState state_ = ThreadState::running;
};

// The program's action for SIGTRAP. If a breakpoint is hit while SIGTRAP is blocked or
// ignored, the kernel resets the action, and the agent restores it.
struct TrapAction {
    bool known = false;
    std::uint64_t handler = 0, flags = 0;
    std::uint64_t restorer = 0, mask = 0; // 0 if unknown or not set
};

// A site that is probed in a parent and will be probed in its child.
struct InheritedSite {
    Instruction insn;
    std::vector<Firing> firings;
    TargetAddr first, end, beyond;
    FurtherBlocks further{};
    TargetAddr loop_end;
    bool jump = false;
    bool may_be_breakpoint = false;
    std::uint32_t tracer_call = 0; // Tracepoint::call_number
};
// Our probes and mappings, which a child inherits with its parent's memory.
struct Inheritance {
    std::vector<InheritedSite> sites; // ascending by address
    std::vector<std::pair<TargetAddr, std::uint64_t>> mappings;
    MappingJournal journal; // lists these mappings
    Statics statics; // their semaphores are incremented in the child's memory, too
};

// The state that one session keeps for a process that it traces.
struct Interest {
    bool followed = false;        // it became a target as the child of a target
    bool planted = false;         // the client has sent the request `plant` for it
    bool by_kernel = false;       // the kernel fires its probes, without code of ours
    Follow follow = Follow::none; // which of its probes its children inherit
    FollowExec follow_exec = FollowExec::none;
    TaskProbes task_probes{};       // which its children inherit, too
    bool has_other_program = false; // it executed a program that is not traced
    int awaited_change = 0;         // the last library change that was reported
    int answered_change = 0;        // the last one that the client has answered
    bool change_held_back = false;  // reported when the client responds again

    bool has_task_probes() const { return task_probes != TaskProbes{}; }
    bool fires(TaskEvent event) const
    {
        return !has_other_program && task_probes[static_cast<std::size_t>(event)] != 0;
    }
};

struct Process {
    pid_t pid = 0;
    std::shared_ptr<AddressSpace> space;
    // Returns whether the process runs in another process's memory, for example as a
    // vfork child.
    bool is_guest() const { return pid != space->owner(); }
    std::unordered_map<pid_t, std::unique_ptr<Thread>> threads;
    // The sessions that trace this process, by number. A process without a session has
    // a record if it shares a target's memory or is being released.
    std::map<unsigned, Interest> interests;
    bool is_target() const { return !interests.empty(); }
    SessionSet sessions() const
    {
        SessionSet all;
        for (const auto& [session, interest] : interests)
            all.set(session);
        return all;
    }
    // Returns whether the condition is true of any of the sessions.
    template <class T> bool any(T Interest::*member, T value) const
    {
        for (const auto& [session, interest] : interests)
            if (interest.*member == value)
                return true;
        return false;
    }
    // Returns whether only the kernel fires its probes.
    bool by_kernel() const { return is_target() && !any(&Interest::by_kernel, false); }
    bool created = false;      // started by the agent, as the agent's own child
    unsigned creator = 0;      // if created: the session that requested it
    bool started = true;       // false until its client has requested its start
    bool to_preinit = false;   // create() waits for the libraries to be mapped
    bool arrived = false;      // it has reached the point to which create() runs it
    bool no_events = false;    // being released or killed, so it sends no events
    bool exits = false;        // the probe `exit` has fired, or needs not fire
    std::uint32_t n_execs = 0; // execs that were reported to the clients
    int library_changes = 0;   // library changes that were reported to the clients
    // It shared a target's memory when the target was grabbed. Not a target itself.
    bool is_old_guest = false;
    pid_t parent = 0;      // for a vfork child: the process whose memory it shares
    Inheritance inherited; // for a followed child until its probes are planted
    TrapAction trap_action;
    TrapRecords trap_records;
};

// Returns the ptrace options of a thread.
inline int options_of(const Thread& thread)
{
    return seize_options |
           (thread.process->space->reports_exits ? PTRACE_O_TRACEEXIT : 0);
}

// Resumes a stopped thread. Delivers `signal`, or Thread::delivers if `signal` is 0.
// Returns false if the thread is about to exit.
inline bool resume_thread(int request, Thread& thread, int signal = 0)
{
    const int delivers = std::exchange(thread.delivers, 0);
    return resume_thread(request, thread.tid, signal != 0 ? signal : delivers);
}

} // namespace dt::agent
