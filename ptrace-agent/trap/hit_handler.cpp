// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/hit_handler.hpp"

#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/inject/our_code.hpp"
#include "ptrace-agent/inject/runtime_loader.hpp"

#include <sys/syscall.h>

namespace dt::agent {

// Returns whether a hit belongs to an interrupted system call that has already fired its
// entry probe.
static bool is_restarted(Thread& thread, const Tracepoint& tp,
                         const user_regs_struct& user)
{
    if (!thread.restarting)
        return false;
    const auto [at, sp] = *thread.restarting;
    if (user.rsp < sp.value)
        return false; // in a signal handler
    thread.restarting.reset();
    return at == tp.at() && user.rsp == sp.value;
}

// Returns whether the thread has just mapped a file as executable.
static bool has_mapped_text(const Tracepoint& tp, const user_regs_struct& user)
{
    return std::any_of(tp.firings.begin(), tp.firings.end(),
                       [](const Firing& f) { return f.kind == SiteKind::new_text; }) &&
           dt_rt_is_new_text(user.rdx, user.r10, user.rax) != 0;
}

void HitHandler::handle(Thread& thread, Tracepoint& tp, user_regs_struct& user)
{
    pid_t tid = thread.tid;
    trap_signals_.repair_after_trap(thread);
    if (tracees_.find_thread(tid) != &thread)
        return; // the thread was killed
    user.rip -= 1;
    if (tp.purpose == Tracepoint::once)
        return arrive(thread, tp, user);
    const bool restarted = is_restarted(thread, tp, user);
    if (!restarted && !tp.firings.empty())
        fire(thread, tp, from_user_regs(user));
    if (trap_mask_.make_sigprocmask(thread, tp, user) ||
        trap_signals_.make_sigaction(thread, tp, user)) {
        if (tracees_.find_thread(tid) == &thread)
            tracees_.go_on(thread);
        return;
    }
    if (tp.purpose == Tracepoint::sigaction_function ||
        (tp.purpose == Tracepoint::sigaction_call && user.rax == SYS_rt_sigaction)) {
        trap_signals_.see_sigaction(thread, from_user_regs(user),
                                    tp.purpose == Tracepoint::sigaction_call);
        const ThreadState state = thread.state();
        trap_mask_.begin_sigaction(thread, user);
        if (tracees_.find_thread(tid) != &thread || thread.state() != state)
            return;
    }
    if ((tp.purpose == Tracepoint::library_change && linker_.handle_change(thread)) ||
        (!restarted && has_mapped_text(tp, user) && linker_.handle_new_text(thread))) {
        client_wait_.hold(thread);
        thread.reenter = true;
        set_regs(thread.tid, user);
        return;
    }
    run_displaced(thread, tp, user);
}

// Holds a thread that has reached the point to which create() runs a command.
void HitHandler::arrive(Thread& thread, Tracepoint& tp, user_regs_struct& user)
{
    AddressSpace& space = *thread.process->space;
    tp.purpose = Tracepoint::fires;
    if (!tp.serves()) {
        space.tracepoints.restore_originals({&tp});
        space.tracepoints.forget(tp);
    }
    set_regs(thread.tid, user);
    thread.held = true;
    thread.process->arrived = true;
}

// Fires the return probe if an indirect jump leaves its function. A jump that faults
// does not fire the probe.
static void fire_jump_out(FiringHost& host, Thread& thread, const Tracepoint& tp,
                          const Firing& firing, const Registers& regs)
{
    AddressSpace& space = *thread.process->space;
    Registers after = regs;
    auto operands = space.statics.operands_of(firing.arg0);
    if (x86_64.emulate(tp.insn, after, space).outcome == Emulation::done &&
        dt_leaves_function(operands.data(), static_cast<dt_u32>(operands.size()),
                           after.rip) != 0)
        host.fire({firing.probe, SiteKind::ret, firing.session,
                   offset_of_jump(operands, tp.at())});
}

// Fires the probes of an instruction that can make any system call, for one session.
static void fire_any_call(FiringHost& host, AddressSpace& space,
                          const CallProbes& probes, const std::vector<Firing>& firings,
                          const Registers& regs)
{
    std::uint64_t number = static_cast<std::uint32_t>(regs[Reg::rax]);
    const unsigned session = firings[0].session;
    const TargetAddr sp{regs[Reg::rsp]}, at{regs.rip};
    if (firings[0].kind == SiteKind::system_call) {
        space.calls.note(sp, at, session, number);
    } else {
        auto noted =
            space.calls.take(sp, TargetAddr{at.value - syscall_bytes}, session);
        if (!noted)
            return;
        number = *noted;
    }
    for (Firing firing : firings) {
        const bool is_task_call = dt_rt_task_call_of(firing.arg0) != 0;
        if (!is_task_call)
            firing.probe = number >= DT_RT_SYSCALLS               ? 0
                           : firing.kind == SiteKind::system_call ? probes.entry[number]
                                                                  : probes.ret[number];
        firing.arg0 |= number;
        if (firing.probe != 0)
            host.fire(firing);
    }
}

void HitHandler::fire(Thread& thread, const Tracepoint& tp, const Registers& regs)
{
    bool leaves = true; // a conditional jump is a return only when it is taken
    if (tp.insn.flow == ControlFlow::branch) {
        Registers after = regs;
        x86_64.emulate(tp.insn, after, *thread.process->space);
        leaves = after.rip != tp.insn.next().value;
    }
    for (const auto& session : tracees_.sessions().all()) {
        if (session->arena.base() == nullptr || !tp.fires_for(session->number))
            continue;
        FiringHost host(session->arena, thread, regs);
        std::vector<Firing> any;
        for (const Firing& firing : tp.firings) {
            if (firing.session != session->number)
                continue;
            if (firing.kind == SiteKind::system_return &&
                (firing.arg0 & check_return) != 0 && !syscalls_keep_rcx() &&
                regs[Reg::rcx] != regs.rip)
                continue;
            if (is_any_call(firing)) {
                any.push_back(firing);
                continue;
            }
            if (firing.kind == SiteKind::new_text)
                continue;
            if (firing.kind == SiteKind::jump_out)
                fire_jump_out(host, thread, tp, firing, regs);
            else if (firing.kind != SiteKind::ret || leaves)
                host.fire(firing);
        }
        if (!any.empty())
            fire_any_call(host, *thread.process->space, session->call_probes, any,
                          regs);
    }
}

// Returns whether the instruction has the same effect at any address.
static bool runs_anywhere(const Instruction& insn)
{
    return !insn.rip_relative &&
           (insn.flow == ControlFlow::next || insn.flow == ControlFlow::ret ||
            insn.flow == ControlFlow::jump_indirect);
}

// Moves a thread from the copy of an instruction to the program. If the copy has run,
// sets the pc to the next instruction. Otherwise emulates the instruction, with two
// exceptions:
// - If the instruction has raised the signal of this stop, sets the pc to the
//   instruction.
// - If the instruction cannot be emulated, the thread runs it later, without firing.
void HitHandler::leave_copy(Thread& thread)
{
    AddressSpace& space = *thread.process->space;
    user_regs_struct user;
    if (space.slots.pages().empty() || thread.step.active ||
        !get_regs(thread.tid, user) || !space.slots.contain({user.rip}))
        return;
    TargetAddr slot{user.rip & ~std::uint64_t(slot_bytes - 1)};
    const Instruction* insn = space.slots.copied_to(slot);
    if (insn == nullptr)
        return;
    std::uint64_t offset = user.rip - slot.value;
    user.rip = offset == 0 ? insn->at.value : insn->next().value;
    siginfo_t info;
    bool fault = thread.event() == 0 && thread.signal() != SIGTRAP &&
                 get_siginfo(thread.tid, info) && info.si_code > 0 &&
                 (signal_bit(thread.signal()) & ~asynchronous_signals) != 0;
    if (offset == 0 && !fault) {
        Registers regs = from_user_regs(user);
        if (x86_64.emulate(*insn, regs, space).outcome == Emulation::done)
            to_user_regs(regs, user);
        else
            thread.reenter = true;
    }
    set_regs(thread.tid, user);
}

void HitHandler::run_displaced(Thread& thread, Tracepoint& tp, user_regs_struct& user)
{
    if (Displaced plan = x86_64.plan_displaced(tp.insn); plan.how != Displaced::emulate)
        return run_in_slot(thread, tp, plan, user);
    AddressSpace& space = *thread.process->space;
    if (tp.uses_memory && !tp.copy)
        tp.copy = space.slots.copy(space, tp.insn);
    if (tp.copy) {
        user.rip = tp.copy->value;
        set_regs(thread.tid, user);
        return tracees_.go_on(thread);
    }
    Registers regs = from_user_regs(user);
    space.clear_touched();
    Emulation did = x86_64.emulate(tp.insn, regs, space);
    if (did.outcome == Emulation::done) {
        thread.faults = 0;
        tp.uses_memory = space.touched() && runs_anywhere(tp.insn);
        to_user_regs(regs, user);
        set_regs(thread.tid, user);
        return tracees_.go_on(thread);
    }
    if (did.outcome == Emulation::fault && ++thread.faults <= 2)
        return run_in_slot(thread, tp,
                           x86_64.plan_after_fault(tp.insn, did.memory_fault), user);
    thread.faults = 0;
    drop_tracepoint(tp, *thread.process->space,
                    "its instruction accesses memory that ptrace(2) cannot access, for "
                    "example device memory");
    set_regs(thread.tid, user);
    tracees_.go_on(thread);
}

void HitHandler::drop_tracepoint(Tracepoint& tp, AddressSpace& space, const char* why)
{
    char at[32];
    std::snprintf(at, sizeof at, "0x%lx", tp.at().value);
    // Other threads may have stopped at this breakpoint. Agent::handle_signal()
    // recognizes such a stop by the restored text.
    space.tracepoints.restore_originals({&tp});
    space.tracepoints.forget(tp);
    tracees_.report(space.owner(),
                    std::string("the tracepoint at ") + at + " was removed: " + why);
}

void HitHandler::run_in_slot(Thread& thread, Tracepoint& tp, const Displaced& plan,
                             user_regs_struct& user)
{
    AddressSpace& space = *thread.process->space;
    pid_t tid = thread.tid;
    if (!injector_.ensure_slots(thread)) {
        if (tracees_.find_thread(tid) != &thread)
            return; // the thread has exited
        return step_in_place(thread, tp, user);
    }
    if (const std::size_t n = space.rescue.take_unknown_slots(); n != 0)
        tracees_.report(space.owner(),
                        std::to_string(n) +
                            " copied instructions are not protected: if the "
                            "ptrace-agent is killed while a thread executes one of "
                            "them, the process is killed too");
    TargetAddr slot = space.slots.of(thread.tid);
    if (thread.slot_holds != tp.at() || plan.access_only) {
        if (!space.write_text(slot, plan.copy_text()))
            return step_in_place(thread, tp, user);
        thread.slot_holds = plan.access_only ? TargetAddr{} : tp.at();
    }
    Registers regs = from_user_regs(user);
    Step& step = thread.step;
    step.active = true;
    step.site = tp.at();
    step.plan = plan;
    step.run = prepare_out_of_line(plan, slot, regs);
    step.mask_saved = !plan.is_syscall && get_mask(thread.tid, step.mask);
    space.rescue.begin_step(space, plan, step.run,
                            step.mask_saved ? std::optional(step.mask) : std::nullopt);
    to_user_regs(regs, user);
    set_regs(thread.tid, user);
    // Set the mask after the registers, because the rescue handler restores the mask
    // only if the thread is in a slot.
    step.mask_saved =
        step.mask_saved && set_mask(thread.tid, step.mask | asynchronous_signals);
    thread.move_to(ThreadState::running);
    // If the agent dies, the trap after the copy stops the thread. A single-step might
    // not stop it.
    const bool to_trap = plan.run_to_trap || space.rescue.installed();
    resume_thread(to_trap ? PTRACE_CONT : PTRACE_SINGLESTEP, thread);
}

// Protects a thread at a breakpoint against the agent's death. Must be called while the
// signal is still pending: after waitid() with WNOWAIT has reported the stop, and
// before waitpid() takes the report. Sets the pc back to the instruction. If the agent
// then dies, the thread receives the signal, and the handler (rescue.hpp) finds the
// instruction's address in the siginfo.
void HitHandler::secure(Thread& thread)
{
    const AddressSpace& space = *thread.process->space;
    siginfo_t info;
    user_regs_struct user;
    if (!space.rescue.installed() || !get_siginfo(thread.tid, info) ||
        !is_breakpoint(info) || !get_regs(thread.tid, user))
        return;
    const Tracepoint* tp = space.tracepoints.find({user.rip - 1});
    if (tp == nullptr || !tp->written)
        return;
    info.si_errno = hit_magic;
    info.si_addr = reinterpret_cast<void*>(tp->at().value);
    user.rip = tp->at().value;
    if (set_siginfo(thread.tid, info) && set_regs(thread.tid, user))
        thread.hit_at = tp->at();
}

static bool is_own_stop(const Thread& thread)
{
    if (thread.event() != 0 || thread.signal() != SIGTRAP)
        return false;
    siginfo_t info;
    return get_siginfo(thread.tid, info) &&
           (info.si_code == TRAP_TRACE || info.si_code == TRAP_BRKPT ||
            info.si_code == SI_KERNEL);
}

// Returns whether the kernel will restart an interrupted system call. To restart it,
// the kernel sets the pc back by two bytes.
static bool will_restart(const user_regs_struct& user)
{
    auto result = static_cast<std::int64_t>(user.rax);
    return static_cast<std::int64_t>(user.orig_rax) >= 0 && result <= -512 &&
           result >= -516;
}

bool HitHandler::end_step(Thread& thread)
{
    Step& step = thread.step;
    step.active = false;
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return false;
    if (step.mask_saved)
        set_mask(thread.tid, step.mask);
    Registers regs = from_user_regs(user);
    SlotEnd end = finish_out_of_line(step.plan, step.run, regs);
    if (end == SlotEnd::elsewhere)
        return false;
    to_user_regs(regs, user);
    set_regs(thread.tid, user);
    bool own = is_own_stop(thread);
    // A signal arrived before the call, or has interrupted it. The handler returns to the
    // site.
    const bool again = end == SlotEnd::finished ? will_restart(user) : !own;
    if (step.plan.is_syscall && again)
        thread.restarting = {step.site, {user.rsp}};
    if (end == SlotEnd::unfinished)
        thread.reenter = true;
    if (own) {
        trap_signals_.repair_after_trap(thread);
        return true;
    }
    // The siginfo of a fault may contain an address in the slot. The program must
    // receive the address of its own instruction.
    siginfo_t info;
    if (thread.event() == 0 && get_siginfo(thread.tid, info) && info.si_code > 0 &&
        (info.si_signo == SIGILL || info.si_signo == SIGFPE ||
         info.si_signo == SIGTRAP || info.si_signo == SIGSYS)) {
        TargetAddr in_slot{reinterpret_cast<std::uint64_t>(info.si_addr)};
        info.si_addr = reinterpret_cast<void*>(
            original_address(step.plan, step.run, in_slot).value);
        set_siginfo(thread.tid, info);
    }
    return false;
}

// Single-steps the instruction at its own address, because no slot is available. All
// other threads are stopped, because the breakpoint is removed during the step.
void HitHandler::step_in_place(Thread& thread, Tracepoint& tp, user_regs_struct& user)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    pid_t tid = thread.tid;
    TargetAddr at = tp.at();
    thread.held = true; // must not be resumed while other threads are stopped
    StoppedWorld world(tracees_, space);
    if (tracees_.find_thread(tid) != &thread)
        return;
    thread.held = false;
    Tracepoint* current = space->tracepoints.find(at);
    set_regs(tid, user);
    if (current == nullptr)
        return;
    space->tracepoints.restore_originals({current});
    std::uint64_t mask = 0;
    bool masked = get_mask(tid, mask) && set_mask(tid, mask | asynchronous_signals);
    WaitStatus status;
    Waited waited = resume_thread(PTRACE_SINGLESTEP, thread)
                        ? tracees_.wait_for_stop(*space, tid, status)
                        : Waited::ended;
    if (waited == Waited::late) {
        // The instruction is a system call that has not returned before the deadline.
        // Interrupt the call; the kernel restarts it later.
        ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
        space->budget.restart(second_timeout_ns);
        waited = tracees_.wait_for_stop(*space, tid, status);
    }
    space->tracepoints.write_breakpoints({current});
    if (waited == Waited::late)
        return tracees_.leave_late(
            thread, "one of its instructions did not finish before the deadline");
    if (waited == Waited::ended) {
        tracees_.drop_thread(thread, status);
        return;
    }
    if (masked)
        set_mask(tid, mask);
    thread.status = status;
    if (!tracees_.take_raised_signal(thread))
        return;
    siginfo_t info;
    bool own = thread.event() == 0 && thread.signal() == SIGTRAP &&
               get_siginfo(tid, info) && info.si_code != SI_USER;
    thread.stop(!own);
    if (thread.is_pending())
        tracees_.add_ready(tid);
}

void HitHandler::undo_stray(Thread& thread)
{
    siginfo_t info;
    user_regs_struct user;
    if (thread.event() != 0 || thread.hit_at.value != 0 ||
        !get_siginfo(thread.tid, info) || !is_synchronous(info) ||
        !get_regs(thread.tid, user))
        return;
    TargetAddr at = trapped_at(info, user);
    if (!is_inside_window(*thread.process->space, at))
        return;
    if (is_breakpoint(info)) {
        trap_signals_.repair_after_trap(thread);
        user.rip = at.value;
        set_regs(thread.tid, user);
    }
    thread.move_to(ThreadState::handled);
}

void HitHandler::undo(Thread& thread, bool all)
{
    siginfo_t info;
    user_regs_struct user;
    if (!thread.is_pending() || thread.event() != 0 || thread.signal() != SIGTRAP ||
        !get_siginfo(thread.tid, info) || info.si_code != SI_KERNEL ||
        !get_regs(thread.tid, user))
        return;
    const TargetAddr at =
        thread.hit_at.value != 0 ? thread.hit_at : TargetAddr{user.rip - 1};
    Tracepoint* tp = thread.process->space->tracepoints.find(at);
    if (tp == nullptr || !tp->written || (!all && tp->serves()))
        return;
    trap_signals_.repair_after_trap(thread);
    user.rip = at.value;
    set_regs(thread.tid, user);
    thread.hit_at = {};
    thread.move_to(ThreadState::handled);
}

} // namespace dt::agent
