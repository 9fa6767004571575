// SPDX-License-Identifier: MIT
// Putting back what a breakpoint breaks: the program's SIGTRAP mask and action.
//
// The kernel forces the SIGTRAP of a breakpoint or a single step on the thread. Is the
// signal blocked there, it is unblocked; is it blocked or ignored, the action becomes
// SIG_DFL (kernel/signal.c, force_sig_info_to_task). Neither leaves a trace of what was
// before, so the agent knows it beforehand or infers it:
//
//   mask    Every stop that is not a trap shows the mask as it is: which masks (without
//           SIGTRAP's bit) had SIGTRAP blocked is remembered per process. A mask never
//           seen so is taken to have it blocked when it blocks nearly everything, as
//           libc does around clone() and posix_spawn().
//           Inside the program's own SIGTRAP handler the signal frame tells it.
//   action  Asked of the kernel when the target is grabbed; later changes are seen by a
//           tracepoint on sigaction(). /proc/PID/status tells on the rare
//           damaged hit whether the action was lost.
//
// Not covered: a thread that blocks SIGTRAP and little else by itself, after its first
// stop and before its first hit, finds it unblocked; a program that installs a SIGTRAP
// handler without its libc, and has SIGTRAP blocked at a hit, finds the handler reset.
#include "ptrace-agent/agent.hpp"

#include "ptrace-agent/linker.hpp"
#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/tracing.hpp"

#include <algorithm>
#include <bit>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t trap_bit = signal_bit(SIGTRAP);
constexpr std::uint64_t sig_ignore = 1; // SIG_IGN as the kernel has it
// SIGKILL and SIGSTOP are never in a mask, and libc's "all" may lack its own two.
constexpr int nearly_everything = 58;
constexpr std::uint64_t max_scanned_bytes = 64 << 20;

void Agent::learn_mask(Thread& thread)
{
    std::uint64_t mask = 0;
    if (get_mask(thread.tid, mask))
        thread.process->trap_blocked[mask & ~trap_bit] = (mask & trap_bit) != 0;
}

void Agent::learn_trap_action(Process& process, Thread& thread)
{
    TrapAction& action = process.trap_action;
    action = TrapAction{true};
    std::string status = read_proc_file(process.pid, "status");
    if ((status_number(status, "SigIgn", 0, 16) & trap_bit) != 0)
        action.handler = sig_ignore;
    if ((status_number(status, "SigCgt", 0, 16) & trap_bit) == 0)
        return;
    KernelAction told;
    if (exchange_action(thread, nullptr, &told)) {
        action.handler = told[0];
        action.flags = told[1];
    }
}

// rt_sigaction(SIGTRAP) in the target. The argument lies below the red zone of the
// thread's stack meanwhile, and what was there is put back.
bool Agent::exchange_action(Thread& thread, const KernelAction* wanted,
                            KernelAction* told)
{
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return false;
    std::shared_ptr<AddressSpace> space = thread.process->space;
    TargetAddr at{(user.rsp - 1024) & ~15ull};
    KernelAction before{};
    if (!space->read_value(at, before) ||
        (wanted != nullptr && !space->write(at, std::as_bytes(std::span(*wanted)))))
        return false;
    std::uint64_t in = wanted != nullptr ? at.value : 0;
    std::uint64_t out = told != nullptr ? at.value : 0;
    auto done = inject(thread, SYS_rt_sigaction, {SIGTRAP, in, out, 8, 0, 0});
    bool good = done && *done == 0 && (told == nullptr || space->read_value(at, *told));
    space->write(at, std::as_bytes(std::span(before)));
    return good;
}

// The program's handler for a SIGTRAP of its own is about to run, with SIGTRAP blocked.
// The thread is brought to its first instruction, to learn where its frame is.
bool Agent::deliver_trap(Thread& thread)
{
    TrapAction& action = thread.process->trap_action;
    user_regs_struct user;
    if (action.handler <= sig_ignore || (action.flags & SA_NODEFER) != 0 ||
        !get_regs(thread.tid, user))
        return false;
    TrapHandler entered{user.rip, 0};
    int status = 0;
    if (!resume_thread(PTRACE_SINGLESTEP, thread.tid, SIGTRAP) ||
        !wait_for_stop(thread.tid, status)) {
        drop_thread(thread, status);
        return true;
    }
    if ((action.flags & SA_RESETHAND) != 0)
        action = TrapAction{true};
    thread.status = status;
    if (!take_raised_signal(thread))
        return true;
    if (thread.event() != 0 || thread.signal() != SIGTRAP) {
        thread.pending = true; // something came first, and is handled first
        ready_.push_back(thread.tid);
        return true;
    }
    if (get_regs(thread.tid, user))
        entered.frame = user.rsp;
    thread.trap_handlers.push_back(entered);
    go_on(thread);
    return true;
}

// Signal frame at handler entry: return address, then struct ucontext, whose rip is that
// of the interrupted code (x86-64: after flags, link, stack and sixteen registers).
static bool is_live(AddressSpace& space, const TrapHandler& handler, std::uint64_t rsp)
{
    constexpr std::uint64_t rip_in_frame = 8 + 40 + 16 * 8;
    constexpr std::uint64_t max_depth = 64 << 10;
    std::uint64_t rip = 0;
    return handler.frame - rsp < max_depth &&
           space.read_value(TargetAddr{handler.frame + rip_in_frame}, rip) &&
           rip == handler.interrupted;
}

// Is it in such a handler still? Handlers that were left, by whatever way, are forgotten.
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

// The thread stands before rt_sigaction(signal, new, old), or at the first instruction
// of libc's sigaction(signal, new, old).
void Agent::see_sigaction(Thread& thread, const Registers& regs, bool system_call)
{
    // glibc and musl: struct sigaction is handler, 128 bytes of mask, flags.
    struct UserAction {
        std::uint64_t handler;
        std::uint64_t mask[16];
        std::int32_t flags;
    };
    if (regs[Reg::rdi] != SIGTRAP || regs[Reg::rsi] == 0)
        return;
    AddressSpace& space = *thread.process->space;
    TargetAddr from{regs[Reg::rsi]};
    std::array<std::uint64_t, 4> told{};
    UserAction action{};
    if (system_call && regs[Reg::rax] == SYS_rt_sigaction &&
        space.read_value(from, told))
        thread.process->trap_action = TrapAction{true, told[0], told[1]};
    if (!system_call && space.read_value(from, action))
        thread.process->trap_action =
            TrapAction{true, action.handler, static_cast<std::uint64_t>(action.flags)};
}

// Does `mov $SYS_rt_sigaction,%eax` at text lead to a syscall within a few
// instructions? The address of that.
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

static std::vector<TargetAddr> sigaction_calls(const AddressSpace& space,
                                               const Mapping& mapping)
{
    static constexpr std::byte load[] = {std::byte{0xb8}, std::byte{SYS_rt_sigaction},
                                         std::byte{0}, std::byte{0}, std::byte{0}};
    std::vector<TargetAddr> found;
    std::uint64_t bytes = mapping.end - mapping.start;
    if (bytes > max_scanned_bytes)
        return found;
    std::vector<std::byte> text(bytes);
    if (!space.read_original(mapping.start, text))
        return found;
    for (auto at = text.begin();; ++at) {
        at = std::search(at, text.end(), std::begin(load), std::end(load));
        if (at == text.end())
            return found;
        auto offset = static_cast<std::size_t>(at - text.begin());
        if (auto call =
                sigaction_call(std::span(text).subspan(offset), mapping.start + offset))
            found.push_back(*call);
    }
}

// libc's function, where there is one: posix_spawn() makes the system call dozens of
// times by another way. Programs with a C library of their own have the system call.
void Agent::watch_sigaction(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    if (space.sigaction_watched)
        return;
    space.sigaction_watched = true;
    std::string program = read_proc_link(space.speaker(), "exe");
    std::vector<Tracepoint*> fresh;
    auto watch = [&space, &fresh](TargetAddr at, Tracepoint::Purpose purpose) {
        std::array<std::byte, 15> text{};
        Tracepoint* tp = space.find(at);
        if (tp == nullptr && at != space.syscall_insn &&
            space.read_original(at, text)) {
            auto insn = x86_64.decode(text, at);
            if (!insn || x86_64.plan_displaced(*insn).how == Displaced::refused)
                return;
            tp = &space.add(*insn);
            fresh.push_back(tp);
        }
        if (tp != nullptr && tp->purpose == Tracepoint::fires)
            tp->purpose = purpose;
    };
    for (const Mapping& m : mappings_of(space.speaker())) {
        if (m.offset == 0 && is_libc(m.path)) {
            if (auto function = symbol_in(space, m.start, "sigaction"))
                watch(*function, Tracepoint::sigaction_function);
        }
        if (!m.execute || m.path != program)
            continue;
        for (TargetAddr at : sigaction_calls(space, m))
            watch(at, Tracepoint::sigaction_call);
    }
    for (Tracepoint* odd : space.write_breakpoints(fresh))
        space.forget(*odd);
}

void Agent::repair_after_trap(Thread& thread)
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
    if (blocked)
        set_mask(thread.tid, mask | trap_bit);
    const TrapAction& action = process.trap_action;
    bool lost =
        action.known && (blocked ? action.handler != 0 : action.handler == sig_ignore);
    if (!lost)
        return;
    std::string status = read_proc_file(process.pid, "status");
    const char* field = action.handler == sig_ignore ? "SigIgn" : "SigCgt";
    if ((status_number(status, field, 0, 16) & trap_bit) != 0)
        return;
    // The kernel forgot the handler only: flags, restorer and mask are still there.
    KernelAction left;
    if (!exchange_action(thread, nullptr, &left))
        return;
    left[0] = action.handler;
    exchange_action(thread, &left, nullptr);
}

} // namespace dt::agent
