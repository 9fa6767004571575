// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/runtime_exit.hpp"

#include "base/clock_ns.hpp"
#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/hold/waits.hpp"
#include "ptrace-agent/inject/our_code.hpp"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

constexpr int max_tries = 64; // runs of one thread before other threads are handled
constexpr int max_brief_runs = 32; // runs of one thread before it is single-stepped
// A thread that does not sleep in the kernel stops within this time after an interrupt.
constexpr std::uint64_t stop_at_once_ns = 20'000'000;
// Signals are blocked once a thread has this many deferred signals.
constexpr std::size_t many_deferred = 8;
constexpr std::uint64_t red_zone = 128;
constexpr std::uint64_t flags_on_stack = 0x3fffff; // FLAGS_MASK of enter.S
constexpr std::uint64_t trap_flag = 0x100;

void RuntimeExit::retry_full_queues()
{
    if (!alarms_.is_due(Alarms::full_queue))
        return;
    alarms_.set(Alarms::full_queue, 0);
    for (auto& [tid, thread] : tracees_.threads()) {
        if (!thread->queue_is_full || !has_deferred(*thread) || thread->interrupted ||
            thread->state() != ThreadState::running)
            continue;
        thread->interrupted = true;
        ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    }
}

// Moves a thread from a trampoline to the program's text, if it has executed none or
// all of the window's instructions. Returns whether the thread was moved.
static bool step_aside(AddressSpace& space, const Thread& thread,
                       user_regs_struct& user)
{
    auto found = space.patches.find({user.rip});
    if (!found)
        return false;
    const PatchPlace& place = found->place;
    // A thread that has executed only some of the window's instructions cannot be
    // moved. In the program's text, the jump has overwritten the next instruction.
    bool before =
        place.kind == PatchPlace::head && place.on == found->planted->patch.at;
    return (before || place.kind == PatchPlace::leaving) &&
           put_on_program(space, place, user) && set_regs(thread.tid, user);
}

// Blocks a thread's asynchronous signals while this object exists. During this time,
// the thread runs only our code. The original mask is announced in the config, so that
// the thread can restore it with a system call if the agent dies. A seccomp filter
// could forbid this system call, so the mask of a thread under seccomp is not
// announced.
class Masked {
public:
    explicit Masked(Thread& thread)
        : tid_(thread.tid), config_(thread.process->space->runtime.writer())
    {
        if (!get_mask(tid_, mask_))
            return;
        config_.set(config_.own().mask_before, mask_);
        config_.set(config_.own().mask_now,
                    (mask_ | asynchronous_signals) &
                        ~(signal_bit(SIGKILL) | signal_bit(SIGSTOP)));
        std::string status = thread_status(thread.process->pid, tid_);
        if (status_number(status, "Seccomp") == 0)
            announce(static_cast<std::uint32_t>(number_of(thread)));
        known_ = set_mask(tid_, mask_ | asynchronous_signals);
    }
    ~Masked()
    {
        if (known_)
            set_mask(tid_, mask_);
        announce(0);
    }
    Masked(const Masked&) = delete;
    Masked& operator=(const Masked&) = delete;

private:
    void announce(std::uint32_t number)
    {
        config_.announce(config_.own().masked_tid, number);
    }

    pid_t tid_;
    RuntimeConfig& config_;
    std::uint64_t mask_ = 0;
    bool known_ = false;
};

// If a thread has reached the gate (doorbells.hpp), changes `user` so that the thread
// continues at the moved instruction of its site. Returns false if the thread is at
// another place, or if its stack cannot be read.
static bool to_moved(AddressSpace& space, user_regs_struct& user)
{
    std::uint64_t pc = user.rip - space.runtime.image.value;
    for (const auto& leave : runtime_header().leaves) {
        if (pc < leave.begin || pc >= leave.end)
            continue;
        std::array<std::uint64_t, 4> words{};
        std::span used(words.data(), leave.depth + 1);
        auto found = space.patches.find(TargetAddr{user.rbx});
        if (!found || !space.read({user.rsp}, std::as_writable_bytes(used)))
            return false;
        user.rsp += used.size_bytes() + red_zone;
        user.rbx = words[leave.depth];
        if (leave.depth >= 1)
            user.rcx = words[leave.depth - 1];
        if (leave.depth >= 2)
            user.rax = words[leave.depth - 2];
        if (leave.depth >= 3)
            user.eflags = words[0] & flags_on_stack & ~trap_flag;
        user.rip = found->planted->patch.moved[found->place.index].to.value;
        user.orig_rax = ~0ull; // not in a system call
        return true;
    }
    return false;
}

// If a thread at the gate is about to continue with the next session's site, moves it to
// the link that leads there. Returns whether the thread was moved.
static bool move_to_link(AddressSpace& space, const Thread& thread,
                         user_regs_struct& user)
{
    const std::uint64_t pc = user.rip - space.runtime.image.value;
    if (!space.runtime.in_links({user.rbx}))
        return false;
    for (const auto& leave : runtime_header().leaves) {
        if (pc < leave.begin || pc >= leave.end)
            continue;
        std::array<std::uint64_t, 3> words{};
        std::span used(words.data(), leave.depth);
        if (!space.read({user.rsp}, std::as_writable_bytes(used)))
            return false;
        user.rsp += used.size_bytes();
        if (leave.depth >= 1)
            user.rcx = words[leave.depth - 1];
        if (leave.depth >= 2)
            user.rax = words[leave.depth - 2];
        if (leave.depth >= 3)
            user.eflags = words[0] & flags_on_stack & ~trap_flag;
        user.rip = user.rbx;
        user.orig_rax = ~0ull; // not in a system call
        return set_regs(thread.tid, user);
    }
    return false;
}

// Runs the thread until it stops by itself or waits at the gate. If this takes too
// long, interrupts the thread, and with Try::last also gives up on the target. Returns
// false if the thread has exited or does not stop.
bool RuntimeExit::run_in_our_code(Thread& thread, Resume resume, Try which)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    pid_t tid = thread.tid;
    WaitStatus status;
    const bool was_pending = thread.is_pending(); // restored at the end
    thread.move_to(ThreadState::running);
    thread.running_out = true;
    std::optional<Masked> masked;
    if (thread.deferred.size() >= many_deferred)
        masked.emplace(thread);
    space->budget.begin_turn(tracees_.turn());
    WaitBudget::Wait wait(space->budget);
    thread.exit_attempts.begin_run();
    const char* const why_late =
        "one of its threads did not leave the probe code in time";
    bool runs = resume_thread(
        resume == Resume::one_step ? PTRACE_SINGLESTEP : PTRACE_CONT, thread);
    if (runs && resume == Resume::briefly)
        ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    std::uint64_t interrupted_ns = 0;
    while (runs) {
        upcalls_.serve(space);
        if (tracees_.find_thread(tid) != &thread)
            return false;
        if (thread.is_stopped()) {
            thread.stop(was_pending || thread.is_pending());
            thread.running_out = false;
            return true;
        }
        Mailbox::ring_in_ms(look_in_ms(*space));
        pid_t reported = tracees_.wait_for(tid, status);
        if (reported < 0 && errno == EINTR) {
            tracees_.sessions().check_in_wait(); // resets Mailbox::rang()
            if (!space->budget.is_spent())
                continue;
            // The thread is in a loop or sleeps in the kernel.
            if (which == Try::last)
                tracees_.give_up(*space, why_late);
            if (interrupted_ns == 0) {
                ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
                interrupted_ns = monotonic_ns();
            }
            // A thread that has not stopped after this time sleeps in the kernel. Its
            // stop is handled when it occurs.
            if (monotonic_ns() - interrupted_ns < stop_at_once_ns)
                continue;
            thread.running_out = false;
            thread.interrupted = true;
            if (which == Try::last)
                tracees_.leave_late(thread,
                                    "one of its threads is asleep in the probe code");
            return false;
        }
        runs = reported == tid && status.is_stopped();
        if (runs)
            break;
    }
    if (runs && which == Try::last &&
        (space->budget.is_spent() || thread.exit_attempts.is_late()))
        tracees_.give_up(*space, why_late);
    if (!runs) {
        tracees_.drop_thread(thread, status);
        return false;
    }
    thread.running_out = false;
    thread.stop(was_pending);
    thread.status = status;
    return true;
}

// Emulates moved instructions, beginning at the thread's pc, for as long as possible.
// Returns false if no instruction was emulated or the registers could not be set.
static bool emulate_moved(AddressSpace& space, const Thread& thread,
                          user_regs_struct& user)
{
    auto found = space.patches.find({user.rip});
    if (!found || found->place.kind != PatchPlace::moved)
        return false;
    const Patch& patch = found->planted->patch;
    auto next = patch.moved.begin() + static_cast<std::ptrdiff_t>(found->place.index);
    Registers regs = from_user_regs(user);
    bool any = false;
    for (;;) {
        std::array<std::byte, max_insn_bytes> text{};
        regs.rip = next->from.value;
        auto insn = space.read_original(next->from, text)
                        ? x86_64.decode(text, next->from)
                        : Result<Instruction>(Error{Code::gone, "unmapped"});
        bool done = insn && x86_64.plan_displaced(*insn).how == Displaced::emulate &&
                    x86_64.emulate(*insn, regs, space).outcome == Emulation::done;
        if (!done) {
            regs.rip = next->to.value;
            break;
        }
        any = true;
        if (regs.rip <= patch.at.value || regs.rip >= patch.end.value)
            break;
        next =
            std::find_if(patch.moved.begin(), patch.moved.end(),
                         [&regs](const Moved& m) { return m.from.value == regs.rip; });
        if (next == patch.moved.end())
            break; // the program jumps into the middle of an instruction
        if (next->head != next->to) {
            regs.rip = next->head.value; // this instruction has a probe
            break;
        }
    }
    to_user_regs(regs, user);
    return any && set_regs(thread.tid, user);
}

bool RuntimeExit::run_to_gate(Thread& thread, Try which)
{
    bool has_gate = thread.process->space->runtime.doorbells.are_armed();
    return run_in_our_code(thread, has_gate ? Resume::until_stop : Resume::one_step,
                           which);
}

// Moves a thread that is in our code closer to the program's code. Sets `ran` to false
// if the thread did not run. `n_runs` is the number of earlier calls for this signal.
// Returns false if the thread has exited or does not stop in time.
//
// If the agent is killed during a single-step, SIGTRAP ends the program. So the thread
// runs without stepping at first, and is interrupted immediately.
bool RuntimeExit::run_to_program(Thread& thread, int n_runs, bool& ran)
{
    ran = true;
    std::shared_ptr<AddressSpace> space = thread.process->space;
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return false;
    thread.exit_attempts.add_stop(user);
    if (space->runtime.in_image({user.rip}) &&
        (move_to_link(*space, thread, user) || !to_moved(*space, user))) {
        ShutGate gate(space->runtime);
        return run_to_gate(thread);
    }
    auto found = space->patches.find({user.rip});
    if (found && found->place.kind == PatchPlace::tail) {
        found->place.on = found->planted->patch.moved[found->place.index].to;
        if (put_on_program(*space, found->place, user))
            found->place.kind = PatchPlace::moved;
    }
    if (found && found->place.kind == PatchPlace::moved && set_regs(thread.tid, user) &&
        emulate_moved(*space, thread, user)) {
        ran = false;
        return true;
    }
    const bool is_in_head = found && found->place.kind == PatchPlace::head;
    // With many deferred signals, signals are blocked while the thread runs. It must
    // then run only our code.
    const bool may_leave = space->runtime.doorbells.are_armed() &&
                           n_runs < max_brief_runs &&
                           thread.deferred.size() < many_deferred;
    if (!is_in_head && !may_leave)
        return run_in_our_code(thread, Resume::one_step);
    ShutGate gate(space->runtime);
    return is_in_head ? run_to_gate(thread) : run_in_our_code(thread, Resume::briefly);
}

void RuntimeExit::deliver_deferred(Thread& thread)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    pid_t tid = thread.tid;
    for (int i = 0; i < max_tries; ++i) {
        user_regs_struct user;
        siginfo_t info;
        if (!get_regs(tid, user))
            return; // waitpid() is about to report the thread's exit
        if (!in_our_code(*space, {user.rip}) || step_aside(*space, thread, user) ||
            space->budget.given_up()) {
            thread.exit_attempts = {};
            if (drop_cancelled(thread)) {
                // A signal that cancels a deferred signal may already have stopped
                // another thread, so all stops are collected first.
                while (tracees_.collect(Wait::poll)) {
                }
                if (tracees_.find_thread(tid) != &thread)
                    return;
            }
            resend_deferred(thread);
            return tracees_.go_on(thread);
        }
        bool ran = false;
        if (!run_to_program(thread, i, ran))
            return;
        if (!ran)
            continue;
        if (thread.is_interrupt())
            continue;
        bool step = thread.event() == 0 && get_siginfo(tid, info) &&
                    info.si_signo == SIGTRAP && info.si_code == TRAP_TRACE;
        if (step)
            continue;
        thread.move_to(ThreadState::handled);
        if (thread.event() == 0 && !is_synchronous(info)) {
            restore_deferred(thread, thread.signal());
            if (get_siginfo(tid, info))
                defer_signal(thread, info);
            continue;
        }
        // The main loop handles this stop. Then tracees_.go_on() interrupts the thread,
        // and the agent calls this function again.
        thread.move_to(ThreadState::pending);
        tracees_.add_ready(tid);
        return;
    }
    tracees_.go_on(thread);
}

bool RuntimeExit::run_out(Thread& thread, Try which)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    WaitBudget::Wait wait(space->budget);
    bool in_group_stop = false;
    for (;;) {
        user_regs_struct user;
        if (!get_regs(thread.tid, user))
            return false;
        if (!in_our_code(*space, {user.rip})) {
            thread.exit_attempts = {};
            break;
        }
        const bool moved =
            !move_to_link(*space, thread, user) && to_moved(*space, user);
        auto found = space->patches.find({user.rip});
        if (found && put_on_program(*space, found->place, user)) {
            set_regs(thread.tid, user);
            break;
        }
        if (moved || found)
            return true; // the stack is unreadable; the thread stays in our code
        if (space->budget.given_up() ||
            (which == Try::again && space->budget.is_spent()))
            break;
        if (!run_to_gate(thread, which))
            return false;
        siginfo_t info;
        if (thread.event() != 0) {
            in_group_stop = in_group_stop || thread.status.is_group_stop();
            continue;
        }
        restore_deferred(thread, thread.signal());
        if (!get_siginfo(thread.tid, info) || !get_regs(thread.tid, user))
            continue;
        if (!is_synchronous(info))
            defer_signal(thread, info);
        else if (!probe_context_.serve_runtime(thread, info, user) &&
                 info.si_signo != SIGTRAP) {
            if (!probe_context_.show_as_program(thread, info, user))
                tracees_.give_up(*space, "its probe code was overwritten or unmapped");
            break;
        }
    }
    if (in_group_stop)
        ptrace(PTRACE_INTERRUPT, thread.tid, nullptr,
               nullptr); // makes the thread enter the group-stop again
    return true;
}

} // namespace dt::agent
