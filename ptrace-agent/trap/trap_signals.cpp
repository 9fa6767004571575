// SPDX-License-Identifier: MIT
// Restores the program's signal mask and its action for SIGTRAP after a breakpoint has
// changed them.
//
// The kernel forces the SIGTRAP of a breakpoint or single-step on the thread
// (force_sig_info_to_task() in kernel/signal.c). If SIGTRAP is blocked, the kernel
// unblocks it. If SIGTRAP is blocked or ignored, the kernel also sets the action to
// SIG_DFL. To restore the state, the agent records it in advance:
//
//   mask    At stops that are not traps, learn_mask() records whether SIGTRAP is
//           blocked. The key of the record is the rest of the mask. Without a record,
//           SIGTRAP counts as blocked if nearly all signals are blocked, because libc
//           blocks all signals around clone(). SIGTRAP also counts as blocked in a
//           SIGTRAP handler.
//   action  The agent reads the action when it grabs the target. Breakpoints report
//           later sigaction() calls.
//
// Not covered
//   - SIGTRAP stays unblocked if a thread blocks only SIGTRAP and a few other signals,
//     and then hits a breakpoint before it stops for another reason.
//   - If a program sets a SIGTRAP handler without libc, and a hit occurs while SIGTRAP
//     is blocked, the handler stays reset.
#include "ptrace-agent/trap/trap_signals.hpp"

#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t trap_bit = signal_bit(SIGTRAP);
constexpr std::uint64_t sa_restorer = 0x04000000; // the kernel's value
// A thread that blocks all signals blocks at least this many signals besides SIGTRAP.
// SIGKILL and SIGSTOP cannot be blocked, and libc may leave three signals unblocked for
// its own use.
constexpr int nearly_everything = 58;
constexpr std::uint64_t max_scanned_bytes = 64 << 20;

void TrapSignals::learn_mask(Thread& thread)
{
    std::uint64_t mask = 0;
    if (get_mask(thread.tid, mask))
        thread.process->trap_blocked[mask & ~trap_bit] = (mask & trap_bit) != 0;
}

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
    const bool learnt = exchange_action(thread, nullptr, &current);
    if (learnt)
        action = TrapAction{true, current[0], current[1], current[2], current[3]};
    return learnt;
}

// The offset of a system call's argument in the rescue's region. No thread of the
// target uses these bytes.
constexpr std::uint64_t scratch_in_rescue = 0x1800;

// Calls rt_sigaction(SIGTRAP) in the target. `wanted` and `previous` may be null.
// Returns false if the call fails. The argument is in the rescue's region or,
// temporarily, below the red zone of the thread's stack.
bool TrapSignals::exchange_action(Thread& thread, const KernelAction* wanted,
                                  KernelAction* previous)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    if (wanted != nullptr && previous == nullptr && space->rescue.installed()) {
        const TargetAddr room = space->rescue.at() + scratch_in_rescue;
        if (!space->write_text(room, std::as_bytes(std::span(*wanted))))
            return false;
        auto done =
            injector_.call(thread, SYS_rt_sigaction, {SIGTRAP, room.value, 0, 8, 0, 0});
        return done && *done == 0;
    }
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return false;
    TargetAddr at{(user.rsp - 1024) & ~15ull};
    KernelAction before{};
    if (!space->read_value(at, before) ||
        (wanted != nullptr && !space->write(at, std::as_bytes(std::span(*wanted)))))
        return false;
    std::uint64_t in = wanted != nullptr ? at.value : 0;
    std::uint64_t out = previous != nullptr ? at.value : 0;
    auto done = injector_.call(thread, SYS_rt_sigaction, {SIGTRAP, in, out, 8, 0, 0});
    bool good =
        done && *done == 0 && (previous == nullptr || space->read_value(at, *previous));
    space->write(at, std::as_bytes(std::span(before)));
    return good;
}

// Single-steps the thread to the first instruction of the program's handler, to learn
// the address of the signal frame. SIGTRAP counts as blocked while that frame is on the
// stack.
bool TrapSignals::deliver(Thread& thread)
{
    TrapAction& action = thread.process->trap_action;
    user_regs_struct user;
    if (action.handler <= sig_ignore || (action.flags & SA_NODEFER) != 0 ||
        !get_regs(thread.tid, user))
        return false;
    TrapHandler entered{user.rip, 0};
    WaitStatus status;
    Waited waited =
        resume_thread(PTRACE_SINGLESTEP, thread.tid, SIGTRAP)
            ? tracees_.wait_for_stop(*thread.process->space, thread.tid, status)
            : Waited::ended;
    if (waited == Waited::late) {
        tracees_.leave_late(thread,
                            "its SIGTRAP handler did not begin before the deadline");
        return true;
    }
    if (waited == Waited::ended) {
        tracees_.drop_thread(thread, status);
        return true;
    }
    if ((action.flags & SA_RESETHAND) != 0)
        action = TrapAction{true};
    thread.status = status;
    if (!tracees_.take_raised_signal(thread))
        return true;
    if (thread.event() != 0 || thread.signal() != SIGTRAP) {
        thread.move_to(ThreadState::pending); // the main loop handles this other stop
        tracees_.add_ready(thread.tid);
        return true;
    }
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

// Returns the address of the syscall instruction among the first four instructions.
// `text` begins with `mov $SYS_rt_sigaction,%eax`. Returns nothing if there is no
// syscall, or if a jump or call comes first.
static std::optional<TargetAddr> sigaction_call(std::span<const std::byte> text,
                                                TargetAddr at)
{
    for (int i = 0; i < 4; ++i) {
        auto insn = x86_64.decode(text, at);
        if (!insn || insn->length > text.size())
            return std::nullopt;
        if (insn->flow == ControlFlow::syscall)
            return at;
        if (insn->flow != ControlFlow::next)
            return std::nullopt;
        text = text.subspan(insn->length);
        at = at + insn->length;
    }
    return std::nullopt;
}

// Returns the addresses of all rt_sigaction() system calls in a mapping, or an empty
// list if the mapping is too large or cannot be read.
static std::vector<TargetAddr> sigaction_calls(const AddressSpace& space,
                                               const Mapping& mapping)
{
    static constexpr std::byte load[] = {std::byte{0xb8}, std::byte{SYS_rt_sigaction},
                                         std::byte{0}, std::byte{0}, std::byte{0}};
    std::vector<TargetAddr> found;
    std::uint64_t bytes = mapping.end - mapping.begin;
    if (bytes > max_scanned_bytes)
        return found;
    std::vector<std::byte> text(bytes);
    if (!space.read_original(mapping.begin, text))
        return found;
    for (auto at = text.begin();; ++at) {
        at = std::search(at, text.end(), std::begin(load), std::end(load));
        if (at == text.end())
            return found;
        auto offset = static_cast<std::size_t>(at - text.begin());
        if (auto call =
                sigaction_call(std::span(text).subspan(offset), mapping.begin + offset))
            found.push_back(*call);
    }
}

// Watches the function sigaction() in C libraries. The system call in libc is not
// watched, because posix_spawn() makes it dozens of times. A program may contain its
// own copy of a C library, so the rt_sigaction(2) calls in its text are watched, too.
void TrapSignals::watch_sigaction(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    if (space.watched.sigaction)
        return;
    space.watched.sigaction = true;
    std::string program = read_proc_link(space.proc_tid(), "exe");
    std::vector<Tracepoint*> fresh;
    auto watch = [&space, &fresh](TargetAddr at, Tracepoint::Purpose purpose) {
        std::array<std::byte, 15> text{};
        Tracepoint* tp = space.tracepoints.find(at);
        if (tp == nullptr && at != space.call_place.insn() &&
            space.read_original(at, text)) {
            auto insn = x86_64.decode(text, at);
            if (!insn || x86_64.plan_displaced(*insn).how == Displaced::refused)
                return;
            tp = &space.tracepoints.add(*insn);
            fresh.push_back(tp);
        }
        if (tp != nullptr && tp->purpose == Tracepoint::fires)
            tp->purpose = purpose;
    };
    for (const Mapping& m : mappings_of(space.proc_tid())) {
        if (m.offset == 0 && is_libc(m.path)) {
            if (auto function = symbol_in(space, m.begin, "sigaction"))
                watch(*function, Tracepoint::sigaction_function);
        }
        if (!m.executable || m.kernel_path() != program)
            continue;
        for (TargetAddr at : sigaction_calls(space, m))
            watch(at, Tracepoint::sigaction_call);
    }
    for (Tracepoint* unwritten : space.tracepoints.write_breakpoints(fresh))
        space.tracepoints.forget(*unwritten);
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

// Returns a thread of the process that can make a system call, or null. Prefers a thread
// that has not stopped for a signal.
static Thread* thread_of(Tracees& tracees, const Process& process)
{
    Thread* with_signal = nullptr;
    for (Thread* thread : tracees.threads_in(*process.space)) {
        if (thread->process != &process || !thread->is_stopped() || thread->in_vfork)
            continue;
        if (thread->event() == PTRACE_EVENT_STOP)
            return thread;
        if (thread->event() == 0)
            with_signal = thread;
    }
    return with_signal;
}

// Returns a thread of the process that owns the memory. Guests have their own actions for
// signals.
static Thread* thread_of_owner(Tracees& tracees, const AddressSpace& space)
{
    const Process* owner = tracees.find_process(space.owner());
    return owner != nullptr && owner->space.get() == &space ? thread_of(tracees, *owner)
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
    if (!exchange_action(*thread, &ours, nullptr) &&
        tracees_.find_thread(tid) != nullptr) {
        space.rescue.forget(); // the mapping stays unused
        space.rescue.refuse(not_installed);
    }
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
        Thread* thread = process != nullptr ? thread_of(tracees_, *process) : nullptr;
        if (thread == nullptr || !learn_action(*process, *thread))
            return false;
        process = tracees_.find_process(pid);
        thread = process != nullptr ? thread_of(tracees_, *process) : nullptr;
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
        if (!exchange_action(*thread, &back, nullptr))
            return false;
    }
    return false;
}

void TrapSignals::remove_rescue(StoppedWorld& world, bool all_stopped)
{
    AddressSpace& space = world.space();
    Thread* thread = thread_of_owner(tracees_, space);
    if (!space.rescue.installed())
        return;
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
        if (exchange_action(*thread, &back, nullptr) &&
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
        if (!exchange_action(thread, &ours, nullptr)) {
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
    auto known = process.trap_blocked.find(mask);
    bool blocked = known != process.trap_blocked.end()
                       ? known->second
                       : std::popcount(mask) >= nearly_everything;
    blocked = blocked || in_trap_handler(thread);
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
    // if and only if SIGTRAP was blocked.
    if (blocked && (is_reset || !handled))
        set_mask(thread.tid, mask | trap_bit);
    if (!is_reset)
        return;
    // The kernel has reset only the handler. Flags, restorer and mask are unchanged.
    KernelAction remaining;
    const pid_t tid = thread.tid;
    if (!exchange_action(thread, nullptr, &remaining) ||
        tracees_.find_thread(tid) != &thread)
        return;
    remaining[0] = rescued ? rescue.handler().value : action.handler;
    exchange_action(thread, &remaining, nullptr);
}

} // namespace dt::agent
