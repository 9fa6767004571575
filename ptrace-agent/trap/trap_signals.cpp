// SPDX-License-Identifier: MIT
// Restores the program's signal mask and its action for SIGTRAP after a breakpoint has
// changed them.
//
// The kernel forces the SIGTRAP of a breakpoint or single-step on the thread
// (force_sig_info_to_task() in kernel/signal.c). If SIGTRAP is blocked, the kernel
// unblocks it. If SIGTRAP is blocked or ignored, the kernel also sets the action to
// SIG_DFL. To restore the state, the agent records it in advance:
//
//   mask    At stops that are not traps, TrapMask records whether SIGTRAP is blocked.
//           The key of the record is the rest of the mask. Without a record, SIGTRAP
//           counts as blocked if nearly all signals are blocked, because libc blocks
//           all signals around clone(). SIGTRAP also counts as blocked in a SIGTRAP
//           handler. In a process with a rescue, TrapMask keeps SIGTRAP unblocked in
//           the kernel, so a repair is rarely necessary.
//   action  The agent reads the action when it grabs the target. Breakpoints report
//           later sigaction() calls.
//
// Not covered
//   - SIGTRAP stays unblocked if a thread blocks only SIGTRAP and a few other signals,
//     and then hits a breakpoint before it stops for another reason.
//   - If a program sets a SIGTRAP handler without libc, and a hit occurs while SIGTRAP
//     is blocked, the handler stays reset.
#include "ptrace-agent/trap/trap_signals.hpp"

#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/trap/action_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t trap_bit = signal_bit(SIGTRAP);
constexpr std::uint64_t sa_restorer = 0x04000000; // the kernel's value

bool TrapSignals::learn_action(Process& process, Thread& thread)
{
    TrapAction& action = process.trap_action;
    action = TrapAction{true};
    std::string status = read_proc_file(process.pid, "status");
    if ((status_number(status, "SigIgn", 0, 16) & trap_bit) != 0)
        action.handler = sig_ignore;
    if ((status_number(status, "SigCgt", 0, 16) & trap_bit) == 0)
        return true;
    KernelAction current;
    const bool learnt = exchange_action(injector_, thread, SIGTRAP, nullptr, &current);
    if (learnt)
        action = TrapAction{true, current[0], current[1], current[2], current[3]};
    return learnt;
}

// Single-steps the thread to the first instruction of the program's handler, to learn
// the address of the signal frame. SIGTRAP counts as blocked while that frame is on the
// stack.
bool TrapSignals::deliver(Thread& thread)
{
    TrapAction& action = thread.process->trap_action;
    siginfo_t info;
    if (get_siginfo(thread.tid, info) && info.si_code <= 0 &&
        trap_mask_.withhold(thread, info))
        return true;
    thread.trap_waits = false;
    user_regs_struct user;
    if (action.handler <= sig_ignore || (action.flags & SA_NODEFER) != 0 ||
        !get_regs(thread.tid, user))
        return false;
    TrapHandler entered{user.rip, 0};
    if ((action.flags & SA_RESETHAND) != 0)
        action = TrapAction{true};
    if (!step_into_handler(tracees_, thread, SIGTRAP))
        return true;
    if (get_regs(thread.tid, user))
        entered.frame = user.rsp;
    thread.trap_handlers.push_back(entered);
    tracees_.go_on(thread);
    return true;
}

// Returns whether a handler's signal frame is still on the stack. In the frame
// (x86-64), the rip of the interrupted code follows the return address, flags, link,
// stack and sixteen registers.
static bool is_live(AddressSpace& space, const TrapHandler& handler, std::uint64_t rsp)
{
    constexpr std::uint64_t rip_in_frame = 8 + 40 + 16 * 8;
    constexpr std::uint64_t max_depth = 64 << 10;
    std::uint64_t rip = 0;
    return handler.frame - rsp < max_depth &&
           space.read_value(TargetAddr{handler.frame + rip_in_frame}, rip) &&
           rip == handler.interrupted;
}

// Returns whether the thread is still in a SIGTRAP handler of the program. Forgets
// handlers that the thread has left.
static bool in_trap_handler(Thread& thread)
{
    user_regs_struct user;
    if (thread.trap_handlers.empty() || !get_regs(thread.tid, user))
        return false;
    while (!thread.trap_handlers.empty() &&
           !is_live(*thread.process->space, thread.trap_handlers.back(), user.rsp))
        thread.trap_handlers.pop_back();
    return !thread.trap_handlers.empty();
}

// The layout of struct sigaction in glibc and musl.
struct UserAction {
    std::uint64_t handler;
    std::uint64_t mask[16];
    std::int32_t flags;
};

// The arguments of rt_sigaction(2) and of libc's sigaction() are the same: signal, new
// action, old action. If system_call is true, the instruction may also make another
// system call.
void TrapSignals::see_sigaction(Thread& thread, const Registers& regs, bool system_call)
{
    if (regs[Reg::rdi] != SIGTRAP || regs[Reg::rsi] == 0)
        return;
    AddressSpace& space = *thread.process->space;
    TargetAddr from{regs[Reg::rsi]};
    KernelAction raw{};
    UserAction action{};
    if (system_call && regs[Reg::rax] == SYS_rt_sigaction &&
        space.read_value(from, raw))
        thread.process->trap_action = TrapAction{true, raw[0], raw[1], raw[2], raw[3]};
    if (!system_call && space.read_value(from, action))
        thread.process->trap_action =
            TrapAction{true, action.handler, static_cast<std::uint64_t>(action.flags),
                       0, action.mask[0]};
}

// Returns why the rescue cannot replace the program's action for SIGTRAP, or null.
static const char* rescue_refusal(const TrapAction& action)
{
    if (!action.known)
        return "its action for SIGTRAP could not be read";
    if (action.handler == sig_ignore)
        return "it ignores SIGTRAP";
    if ((action.flags & SA_RESETHAND) != 0)
        return "its SIGTRAP handler has SA_RESETHAND";
    return nullptr;
}

static ProgramHandler handler_of(const TrapAction& action)
{
    const bool blocks_itself = (action.flags & SA_NODEFER) == 0;
    return {action.handler, action.mask | (blocks_itself ? trap_bit : 0), action.flags,
            action.restorer, action.mask};
}

// Returns the kernel action for a program that sets `action`. The handler is the
// rescue's, or the program's if the rescue cannot replace `action`.
static KernelAction action_for_kernel(const Rescue& rescue, const TrapAction& action)
{
    KernelAction made{action.handler, action.flags | sa_restorer, action.restorer,
                      action.mask};
    if (action.restorer == 0)
        made[2] = rescue.restorer().value;
    if (rescue_refusal(action) != nullptr)
        return made;
    made[0] = rescue.handler().value;
    made[1] |= SA_SIGINFO;
    // The program's handlers must not interrupt the rescue. Such a handler could hit a
    // breakpoint while SIGTRAP is blocked.
    made[3] |= asynchronous_signals;
    if (action.handler == 0)
        // The program has no handler. The rescue runs on the thread's alternate stack,
        // if the thread has one.
        made[1] |= SA_ONSTACK | SA_RESTART;
    return made;
}

// Returns a thread of the process that owns the memory. Guests have their own actions for
// signals.
static Thread* thread_of_owner(Tracees& tracees, const AddressSpace& space)
{
    const Process* owner = tracees.find_process(space.owner());
    return owner != nullptr && owner->space.get() == &space
               ? calling_thread(tracees, *owner)
               : nullptr;
}

bool TrapSignals::ensure_rescue(StoppedWorld& world)
{
    install_rescue(world);
    const AddressSpace& space = world.space();
    return space.rescue.installed() ||
           (!space.budget.given_up() && !injector_.is_stub_in_use(space) &&
            world.any_thread() != nullptr);
}

// Returns why the target cannot have a rescue, or an empty string.
static std::string rescue_refusal(const AddressSpace& space, const Thread& thread)
{
    if (!space.call_place.refusal().empty())
        return space.call_place.refusal();
    if (thread.process->is_guest())
        return "it shares the address space of another process";
    const std::string status = thread_status(thread.process->pid, thread.tid);
    if (status_number(status, "Seccomp") != 0)
        return "it runs under seccomp";
    const char* const refusal = rescue_refusal(thread.process->trap_action);
    return refusal != nullptr ? refusal : "";
}

// Installs the rescue. Does nothing if no thread can make a system call now. If the
// target cannot have a rescue, only records the reason.
void TrapSignals::install_rescue(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    Thread* thread = thread_of_owner(tracees_, space);
    if (thread == nullptr)
        thread = world.any_thread();
    if (space.rescue.installed() || thread == nullptr)
        return;
    std::string refusal = rescue_refusal(space, *thread);
    if (!refusal.empty())
        return space.rescue.refuse(std::move(refusal));
    auto region = injector_.map_ours(*thread, {Ours::rescue,
                                               {},
                                               Rescue::region_bytes(),
                                               PROT_READ | PROT_EXEC,
                                               MAP_NORESERVE});
    thread = thread_of_owner(tracees_, space);
    const char* const not_installed =
        "the handler that restores the text could not be installed";
    if (!region || *region > ~4095ull || thread == nullptr)
        return space.rescue.refuse(not_installed);
    const TrapAction& action = thread->process->trap_action;
    if (!space.rescue.install(space, {*region}, handler_of(action)))
        return space.rescue.refuse(not_installed);
    tracees_.secure_hits();
    KernelAction ours = action_for_kernel(space.rescue, action);
    const pid_t tid = thread->tid;
    if (!exchange_action(injector_, *thread, SIGTRAP, &ours, nullptr) &&
        tracees_.find_thread(tid) != nullptr) {
        space.rescue.forget(); // the mapping stays unused
        space.rescue.refuse(not_installed);
    }
    if (space.rescue.installed())
        trap_mask_.hide(world);
}

// Reads the action again, because no agent has observed its changes. Then restores the
// program's action. In rare cases, a killed agent has taken the handler of an earlier
// killed agent for the program's handler, so this is repeated.
bool TrapSignals::leave_left_rescues(pid_t pid, std::span<const LeftRegion> regions)
{
    auto region_of = [&](std::uint64_t address) -> const LeftRegion* {
        auto found =
            std::find_if(regions.begin(), regions.end(), [&](const LeftRegion& region) {
                return TargetAddr{address} - region.at < region.bytes;
            });
        return found == regions.end() ? nullptr : &*found;
    };
    for (std::size_t i = 0; i <= regions.size(); ++i) {
        Process* process = tracees_.find_process(pid);
        Thread* thread =
            process != nullptr ? calling_thread(tracees_, *process) : nullptr;
        if (thread == nullptr || !learn_action(*process, *thread))
            return false;
        process = tracees_.find_process(pid);
        thread = process != nullptr ? calling_thread(tracees_, *process) : nullptr;
        if (thread == nullptr)
            return false;
        const TrapAction now = process->trap_action;
        const LeftRegion* region = region_of(now.handler);
        if (region == nullptr)
            return now.handler <= sig_ignore || region_of(now.restorer) == nullptr;
        const auto left = Rescue::left_at(*process->space, region->at);
        if (!left)
            return false;
        KernelAction back{};
        if (left->handler != 0)
            back = {left->handler, left->flags | sa_restorer,
                    left->restorer != 0 ? left->restorer : now.restorer,
                    left->own_mask};
        if (!exchange_action(injector_, *thread, SIGTRAP, &back, nullptr))
            return false;
    }
    return false;
}

void TrapSignals::remove_rescue(StoppedWorld& world, bool all_stopped)
{
    AddressSpace& space = world.space();
    trap_mask_.show_all(world); // a forked child hides SIGTRAP before it has a rescue
    if (!space.rescue.installed())
        return;
    Thread* thread = thread_of_owner(tracees_, space);
    bool in_there = !all_stopped;
    for (const Thread* each : tracees_.threads_in(space)) {
        user_regs_struct user;
        in_there = in_there || (each->is_stopped() && get_regs(each->tid, user) &&
                                space.rescue.contains({user.rip}));
    }
    if (thread != nullptr && !space.budget.given_up()) {
        const TrapAction action = thread->process->trap_action;
        KernelAction back{};
        if (action.handler != 0) {
            back = action_for_kernel(space.rescue, action);
            back[0] = action.handler;
            back[1] = action.flags | sa_restorer;
            back[3] = action.mask;
        }
        // If the program has set a handler for SIGTRAP, the region stays mapped. The
        // handler may return through our restorer, which is in the region.
        if (exchange_action(injector_, *thread, SIGTRAP, &back, nullptr) &&
            !space.rescue.handler_was_set() && !in_there)
            if (Thread* other = world.any_thread())
                injector_.unmap_ours(*other, space.rescue.at(), Rescue::region_bytes());
    }
    space.rescue.forget();
}

// Makes the call in place of the program, because the kernel's action for SIGTRAP is
// ours. The program receives its own previous action.
bool TrapSignals::make_sigaction(Thread& thread, const Tracepoint& tp,
                                 user_regs_struct& user)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    Process& process = *thread.process;
    const bool system_call = tp.purpose == Tracepoint::sigaction_call;
    if ((!system_call && tp.purpose != Tracepoint::sigaction_function) ||
        !space->rescue.installed() || process.is_guest() || user.rdi != SIGTRAP ||
        (system_call &&
         (user.rax != SYS_rt_sigaction || user.r10 != sizeof(std::uint64_t))))
        return false;
    const TrapAction before = process.trap_action;
    TrapAction wanted = before;
    const TargetAddr in{user.rsi}, out{user.rdx};
    if (system_call) {
        KernelAction given{};
        if (in.value != 0 && !space->read_value(in, given))
            return false;
        if (in.value != 0)
            wanted = TrapAction{true, given[0], given[1], given[2], given[3]};
    } else {
        UserAction given{};
        if (in.value != 0 && !space->read_value(in, given))
            return false;
        // The previous restorer has the same effect as the restorer that libc would
        // pass.
        if (in.value != 0)
            wanted =
                TrapAction{true, given.handler, static_cast<std::uint32_t>(given.flags),
                           before.restorer, given.mask[0]};
    }
    std::uint64_t back = 0; // the return address of libc's function
    if (!system_call && !space->read_value(TargetAddr{user.rsp}, back))
        return false;
    if (out.value != 0) {
        KernelAction old{before.handler, before.flags, before.restorer, before.mask};
        UserAction shown{
            before.handler, {before.mask}, static_cast<std::int32_t>(before.flags)};
        const auto bytes = system_call ? std::as_bytes(std::span(old))
                                       : std::as_bytes(std::span(&shown, 1))
                                             .first(offsetof(UserAction, flags) + 4);
        if (!space->write(out, bytes))
            return false;
    }
    if (in.value != 0) {
        KernelAction ours = action_for_kernel(space->rescue, wanted);
        const pid_t tid = thread.tid;
        space->rescue.set_program_handler(*space, handler_of(wanted));
        if (!exchange_action(injector_, thread, SIGTRAP, &ours, nullptr)) {
            if (tracees_.find_thread(tid) != &thread)
                return true;
            space->rescue.set_program_handler(*space, handler_of(before));
            return false;
        }
        process.trap_action = wanted;
    }
    user.rax = 0;
    if (system_call) {
        user.rip = tp.insn.next().value;
        user.rcx = user.rip;
        user.r11 = user.eflags;
    } else {
        user.rip = back;
        user.rsp += sizeof back;
    }
    set_regs(thread.tid, user);
    return true;
}

void TrapSignals::repair_after_trap(Thread& thread)
{
    Process& process = *thread.process;
    std::uint64_t mask = 0;
    if (!get_mask(thread.tid, mask) || (mask & trap_bit) != 0)
        return;
    const bool in_handler = in_trap_handler(thread);
    const bool blocked = in_handler || TrapMask::blocks(thread, mask);
    const TrapAction& action = process.trap_action;
    const Rescue& rescue = process.space->rescue;
    const bool rescued = rescue.installed() && rescue_refusal(action) == nullptr;
    const bool handled = action.known && (rescued || action.handler > sig_ignore);
    const bool ignored = action.known && !rescued && action.handler == sig_ignore;
    const bool may_be_reset = ignored || (blocked && handled);
    bool is_reset = may_be_reset;
    if (may_be_reset) {
        const std::string status = read_proc_file(process.pid, "status");
        const char* const field = ignored ? "SigIgn" : "SigCgt";
        is_reset = (status_number(status, field, 0, 16) & trap_bit) == 0;
    }
    // `blocked` may be wrong, because it is usually derived from the other signals in
    // the mask. If SIGTRAP has a handler, is_reset decides: the kernel resets a handler
    // if and only if SIGTRAP was blocked. If another thread has already repaired the
    // handler, the thread's mask is not restored.
    const bool was_blocked = blocked && (is_reset || !handled || thread.trap_waits);
    if (was_blocked && (in_handler || !thread.hides_trap || thread.trap_waits))
        set_mask(thread.tid, mask | trap_bit);
    const bool waits = was_blocked && thread.trap_waits;
    if (!is_reset)
        return waits ? TrapMask::keep_waiting(thread) : void();
    // The kernel has reset only the handler. Flags, restorer and mask are unchanged.
    KernelAction remaining;
    const pid_t tid = thread.tid;
    if (!exchange_action(injector_, thread, SIGTRAP, nullptr, &remaining) ||
        tracees_.find_thread(tid) != &thread)
        return;
    remaining[0] = rescued ? rescue.handler().value : action.handler;
    exchange_action(injector_, thread, SIGTRAP, &remaining, nullptr);
    if (tracees_.find_thread(tid) == &thread && waits)
        TrapMask::keep_waiting(thread);
}

} // namespace dt::agent
