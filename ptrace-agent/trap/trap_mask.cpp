// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/trap_mask.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/trap/action_calls.hpp"

#include <bit>
#include <cerrno>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::uint64_t trap_in_mask = signal_bit(SIGTRAP);
constexpr int max_signal = 64;
// A thread that blocks all signals blocks at least this many signals besides SIGTRAP.
// SIGKILL and SIGSTOP cannot be blocked, and libc may leave three signals unblocked for
// its own use.
constexpr int nearly_everything = 58;

static bool has_trap(std::uint64_t mask)
{
    return (mask & trap_in_mask) != 0;
}

bool TrapMask::blocks(const Thread& thread, std::uint64_t mask)
{
    if (has_trap(mask))
        return true;
    if (auto known = thread.trap_masks.find(mask))
        return *known;
    if (auto known = thread.process->trap_records.masks.find(mask))
        return *known;
    return std::popcount(mask) >= nearly_everything;
}

void TrapMask::record(Thread& thread, std::uint64_t mask, bool blocks)
{
    thread.trap_masks.set(mask & ~trap_in_mask, blocks);
    thread.process->trap_records.masks.set(mask & ~trap_in_mask, blocks);
}

void TrapMask::learn(Thread& thread)
{
    std::uint64_t mask = 0;
    if (!get_mask(thread.tid, mask))
        return;
    const bool was_hidden = thread.hides_trap;
    thread.hides_trap = was_hidden || thread.process->trap_records.hides;
    // If SIGTRAP is hidden, its absence from the kernel's mask means nothing.
    if (!was_hidden || has_trap(mask))
        record(thread, mask, has_trap(mask));
    if (thread.hides_trap && has_trap(mask) && !thread.trap_waits)
        set_mask(thread.tid, mask & ~trap_in_mask);
}

static KernelAction without_trap(KernelAction action)
{
    action[3] &= ~trap_in_mask;
    return action;
}

// Reads the program's action for a signal. Removes SIGTRAP from the mask of the kernel's
// action. `room` is as in exchange_action().
void TrapMask::learn_action(Thread& thread, int signal, std::optional<TargetAddr> room)
{
    const pid_t tid = thread.tid;
    KernelAction action{};
    if (!exchange_action(injector_, thread, signal, nullptr, &action, room) ||
        tracees_.find_thread(tid) != &thread)
        return;
    const KernelAction made = without_trap(action);
    if (made == action ||
        (replace_action(injector_, thread, signal, action, made, room) &&
         tracees_.find_thread(tid) == &thread))
        thread.process->trap_records.actions[signal] = action;
}

void TrapMask::hide(StoppedWorld& world)
{
    Process* owner = tracees_.find_process(world.space().owner());
    if (owner == nullptr || owner->space.get() != &world.space())
        return;
    owner->trap_records.hides = true;
    for (auto& [tid, thread] : owner->threads)
        if (thread->is_stopped())
            learn(*thread);
    const pid_t pid = owner->pid;
    const std::uint64_t caught =
        status_number(read_proc_file(pid, "status"), "SigCgt", 0, 16) & ~trap_in_mask;
    for (int signal = 1; signal <= max_signal; ++signal) {
        owner = tracees_.find_process(pid);
        Thread* thread = owner != nullptr ? calling_thread(tracees_, *owner) : nullptr;
        if (thread == nullptr || world.space().budget.given_up())
            return;
        if ((caught & signal_bit(signal)) != 0 &&
            owner->trap_records.actions.count(signal) == 0)
            learn_action(*thread, signal);
    }
}

void TrapMask::show(Thread& thread)
{
    std::uint64_t mask = 0;
    if (!thread.hides_trap || !get_mask(thread.tid, mask))
        return;
    thread.hides_trap = false;
    if (!has_trap(mask) && blocks(thread, mask))
        set_mask(thread.tid, mask | trap_in_mask);
}

void TrapMask::show_in(const Thread& parent, pid_t child)
{
    std::uint64_t mask = 0;
    if (parent.hides_trap && get_mask(child, mask) && !has_trap(mask) &&
        blocks(parent, mask))
        set_mask(child, mask | trap_in_mask);
}

void TrapMask::end_program(Thread& thread)
{
    show(thread);
    thread.trap_waits = false;
    thread.trap_masks = {};
    thread.process->trap_records = {};
}

void TrapMask::inherit(const Thread& parent, Thread& child)
{
    child.trap_masks = parent.trap_masks;
    child.hides_trap = parent.hides_trap;
}

void TrapMask::show_all(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    std::vector<pid_t> pids;
    for (const auto& [pid, process] : tracees_.processes())
        if (process->space.get() == &space && process->trap_records.hides)
            pids.push_back(pid);
    for (pid_t pid : pids) {
        Process* process = tracees_.find_process(pid);
        process->trap_records.hides = false;
        const auto actions = std::move(process->trap_records.actions);
        process->trap_records.actions.clear();
        for (const auto& [signal, action] : actions) {
            process = tracees_.find_process(pid);
            Thread* thread =
                process != nullptr ? calling_thread(tracees_, *process) : nullptr;
            if (!has_trap(action[3]) || thread == nullptr || space.budget.given_up())
                continue;
            // The program may have set another action in a way that the agent did not
            // notice.
            replace_action(injector_, *thread, signal, without_trap(action), action);
        }
    }
    for (Thread* thread : tracees_.threads_in(space))
        if (thread->is_stopped())
            show(*thread);
}

// Reads the new mask, writes the old one, and then sets the new one. The kernel writes
// the old one last. Here it is written earlier, so that the program can still make the
// call itself if that fails.
bool TrapMask::make_sigprocmask(Thread& thread, const Tracepoint& tp,
                                user_regs_struct& user)
{
    constexpr std::uint64_t never_blocked = signal_bit(SIGKILL) | signal_bit(SIGSTOP);
    AddressSpace& space = *thread.process->space;
    std::uint64_t kernel = 0, given = 0;
    if (tp.purpose != Tracepoint::mask_call || !thread.hides_trap ||
        user.rax != SYS_rt_sigprocmask || user.r10 != sizeof kernel ||
        !get_mask(thread.tid, kernel))
        return false;
    const std::uint64_t before =
        kernel | (blocks(thread, kernel) ? trap_in_mask : std::uint64_t{0});
    std::uint64_t now = before;
    const TargetAddr in{user.rsi}, out{user.rdx};
    if (in.value != 0) {
        if (!space.read_value(in, given))
            return false;
        given &= ~never_blocked;
        switch (static_cast<int>(user.rdi)) {
        case SIG_BLOCK:
            now |= given;
            break;
        case SIG_UNBLOCK:
            now &= ~given;
            break;
        case SIG_SETMASK:
            now = given;
            break;
        default:
            return false;
        }
    }
    if (out.value != 0 && !space.write(out, std::as_bytes(std::span(&before, 1))))
        return false;
    if (in.value != 0) {
        record(thread, now, has_trap(now));
        thread.trap_waits = thread.trap_waits && has_trap(now);
        set_mask(thread.tid, thread.trap_waits ? now : now & ~trap_in_mask);
    }
    user.rax = 0;
    user.rip = tp.insn.next().value;
    user.rcx = user.rip;
    user.r11 = user.eflags;
    set_regs(thread.tid, user);
    return true;
}

void TrapMask::begin_sigaction(Thread& thread, const user_regs_struct& user)
{
    auto& actions = thread.process->trap_records.actions;
    const auto known = actions.find(static_cast<int>(user.rdi));
    if (known == actions.end())
        return;
    const auto [signal, action] = *known;
    actions.erase(known);
    const bool reads_it = user.rdx != 0;
    if (reads_it && has_trap(action[3]))
        replace_action(injector_, thread, signal, without_trap(action), action);
}

bool step_into_handler(Tracees& tracees, Thread& thread, int signal)
{
    WaitStatus status;
    Waited waited =
        resume_thread(PTRACE_SINGLESTEP, thread.tid, signal)
            ? tracees.wait_for_stop(*thread.process->space, thread.tid, status)
            : Waited::ended;
    if (waited == Waited::late) {
        tracees.leave_late(thread, "its signal handler did not begin before the "
                                   "deadline");
        return false;
    }
    if (waited == Waited::ended) {
        tracees.drop_thread(thread, status);
        return false;
    }
    thread.status = status;
    if (!tracees.take_raised_signal(thread))
        return false;
    siginfo_t info;
    const bool is_breakpoint =
        get_siginfo(thread.tid, info) && info.si_code == SI_KERNEL;
    if (thread.event() == 0 && thread.signal() == SIGTRAP && !is_breakpoint)
        return true;
    thread.move_to(ThreadState::pending); // the main loop handles this other stop
    tracees.add_ready(thread.tid);
    return false;
}

// Returns whether the signal has interrupted a system call that sets a mask while it
// waits. The handler then starts with that mask.
static bool waits_with_mask(const Thread& thread)
{
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return false;
    constexpr std::int64_t restart_no_hand = 514, restart_block = 516;
    const auto result = -static_cast<std::int64_t>(user.rax);
    if (result != EINTR && result != restart_no_hand && result != restart_block)
        return false;
    switch (static_cast<std::int64_t>(user.orig_rax)) { // the argument with the mask
    case SYS_rt_sigsuspend:
        return true;
    case SYS_ppoll:
        return user.r10 != 0;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_io_uring_enter:
        return user.r8 != 0;
    case SYS_pselect6:
    case SYS_io_pgetevents:
        return user.r9 != 0;
    default:
        return false;
    }
}

// Returns memory that a thread at the first instruction of a handler does not use: the
// last bytes of the siginfo_t in its signal frame. The stack below the frame may end soon
// (sigaltstack(2)).
static std::optional<TargetAddr> unused_siginfo(const Thread& thread)
{
    // The frame begins with the return address and the kernel's struct ucontext.
    constexpr std::uint64_t siginfo_at = 8 + 304;
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return std::nullopt;
    return TargetAddr{user.rsp + siginfo_at + sizeof(siginfo_t) - sizeof(KernelAction)};
}

bool TrapMask::enter_handler(Thread& thread, int signal)
{
    std::uint64_t mask = 0;
    if (!thread.hides_trap || !thread.process->space->rescue.installed() ||
        signal == SIGTRAP || !get_mask(thread.tid, mask))
        return false;
    auto& actions = thread.process->trap_records.actions;
    const auto known = actions.find(signal);
    const bool blocked = blocks(thread, mask);
    if (known != actions.end() && !waits_with_mask(thread)) {
        const KernelAction action = known->second;
        const std::uint64_t added =
            action[3] |
            ((action[1] & SA_NODEFER) == 0 ? signal_bit(signal) : std::uint64_t{0});
        const std::uint64_t in_handler = (mask | added) & ~trap_in_mask;
        if (action[0] > sig_ignore && in_handler != mask)
            record(thread, in_handler, blocked || has_trap(action[3]));
        if ((action[1] & SA_RESETHAND) != 0)
            actions.erase(known);
        return false;
    }
    const std::string status = thread_status(thread.process->pid, thread.tid);
    if ((status_number(status, "SigCgt", 0, 16) & signal_bit(signal)) == 0) {
        if (known == actions.end())
            actions[signal] = {}; // no handler
        return false;
    }
    if (!step_into_handler(tracees_, thread, signal))
        return true;
    std::uint64_t in_handler = 0;
    if (get_mask(thread.tid, in_handler)) {
        if (has_trap(in_handler) && !thread.trap_waits)
            set_mask(thread.tid, in_handler & ~trap_in_mask);
        if ((in_handler & ~trap_in_mask) != mask)
            record(thread, in_handler, blocked || has_trap(in_handler));
    }
    const pid_t tid = thread.tid;
    const ThreadState state = thread.state();
    // While a SIGTRAP of the program waits, no system call is injected, because its stops
    // could take the SIGTRAP.
    if (thread.process->trap_records.actions.count(signal) == 0 && !thread.trap_waits)
        learn_action(thread, signal, unused_siginfo(thread));
    if (tracees_.find_thread(tid) == &thread && thread.state() == state)
        tracees_.go_on(thread);
    return true;
}

bool TrapMask::withholds(const Thread& thread)
{
    std::uint64_t mask = 0;
    return thread.trap_waits && get_mask(thread.tid, mask) && blocks(thread, mask);
}

void TrapMask::keep_waiting(Thread& thread)
{
    siginfo_t info;
    if (get_siginfo(thread.tid, info) && info.si_code <= 0) {
        // A SIGTRAP can be pending only once. The kernel has dropped the breakpoint's, and
        // has reported the program's.
        defer_signal(thread, info);
        return resend_deferred(thread);
    }
    const std::string status = thread_status(thread.process->pid, thread.tid);
    thread.trap_waits = has_trap(status_number(status, "SigPnd", 0, 16) |
                                 status_number(status, "ShdPnd", 0, 16));
    std::uint64_t mask = 0;
    if (!thread.trap_waits && get_mask(thread.tid, mask))
        set_mask(thread.tid, mask & ~trap_in_mask);
}

bool TrapMask::withhold(Thread& thread, const siginfo_t& info)
{
    std::uint64_t mask = 0;
    if (!thread.hides_trap || !get_mask(thread.tid, mask) || has_trap(mask) ||
        !blocks(thread, mask) || !set_mask(thread.tid, mask | trap_in_mask))
        return false;
    thread.trap_waits = true;
    if (info.si_code == SI_USER) {
        // Another thread may be able to take the signal.
        ::kill(thread.process->pid, SIGTRAP);
    } else {
        defer_signal(thread, info);
        resend_deferred(thread);
    }
    tracees_.go_on(thread);
    return true;
}

} // namespace dt::agent
