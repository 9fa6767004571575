// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/upcalls.hpp"

#include "dif/vars.h"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/hold/waits.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <cstddef>
#include <set>

namespace dt::agent {

constexpr int max_rings = 1024; // upcalls served before the main loop continues

pid_t number_of(Thread& thread)
{
    if (thread.number != 0)
        return thread.number;
    thread.number = innermost_pid(thread_status(thread.process->pid, thread.tid));
    return thread.number;
}

Thread* Upcalls::caller_of(AddressSpace& space, pid_t number)
{
    auto has_number = [number](Thread& thread) { return number_of(thread) == number; };
    Thread* likely = tracees_.find_thread(number);
    if (likely != nullptr && likely->process->space.get() == &space &&
        has_number(*likely))
        return likely;
    for (Thread* thread : tracees_.threads_in(space)) {
        if (has_number(*thread))
            return thread;
    }
    return nullptr;
}

void Upcalls::serve_all()
{
    std::set<std::shared_ptr<AddressSpace>> spaces;
    for (auto& [pid, process] : tracees_.processes())
        spaces.insert(process->space);
    for (const std::shared_ptr<AddressSpace>& space : spaces)
        serve(space);
}

void Upcalls::serve(const std::shared_ptr<AddressSpace>& space)
{
    // Threads that make upcalls constantly must not block the agent.
    for (int i = 0; i < max_rings; ++i) {
        auto ring = space->runtime.doorbells.next();
        if (!ring) {
            if (space->runtime.doorbells.tampered())
                tracees_.give_up(*space,
                                 "its userfaultfd was changed by another process");
            return;
        }
        serve_ring(space, *ring);
    }
    Mailbox::ring_in_ms(1);
}

static bool needs_stop(const dt_rt_upcall& call, const dt_rt_config& config)
{
    // The agent can read the fs base, which locates errno, only from a stopped thread.
    return call.op == DT_RT_UP_LIBRARIES || call.op == DT_RT_UP_TRACER ||
           (call.op == DT_RT_UP_VAR &&
            (config.fs_method != DT_RT_FS_RDFSBASE || call.a[0] == DIF_VAR_errno));
}

void Upcalls::serve_ring(const std::shared_ptr<AddressSpace>& space, const Ring& ring)
{
    const dt_rt_config& config = space->runtime.config();
    Thread* thread = caller_of(*space, ring.tid);
    if (ring.bell == DT_RT_N_BELLS && space->presence == Presence::away) {
        // The thread waits until Attendance has attached again.
        space->away.is_summoned = true;
        return;
    }
    if (ring.bell == DT_RT_N_BELLS) {
        // The thread waits at the gate (doorbells.hpp). It is stopped if RuntimeExit
        // made it run to the gate. Otherwise it waits until the gate is opened.
        if (thread != nullptr && thread->running_out)
            tracees_.stop_one(*thread);
        return;
    }
    const TargetAddr at = space->runtime.stack(ring.stack).value_or(TargetAddr{});
    dt_rt_upcall call{};
    if (at.value == 0 || thread == nullptr || !space->read_value(at, call) ||
        call.answered != 0)
        return space->runtime.doorbells.release(ring.bell); // the runtime tries again
    bool was_stopped = thread->is_stopped();
    if (needs_stop(call, config) && !tracees_.stop_one(*thread))
        return space->runtime.doorbells.release(ring.bell);
    const pid_t tid = thread->tid;
    serve_call(*thread, at);
    space->runtime.doorbells.release(ring.bell);
    thread = tracees_.find_thread(tid); // null if it was killed meanwhile
    if (thread != nullptr && !was_stopped && thread->is_stopped() &&
        !thread->is_pending())
        tracees_.go_on(*thread);
}

void Upcalls::serve_call(Thread& thread, TargetAddr at)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    dt_rt_upcall call{};
    dt_rt_frame frame{};
    if (!space->read_value(at, call) ||
        !space->read_value(TargetAddr{call.frame}, frame))
        return;
    call.result = -1;
    call.answered = 1;
    const AgentSession* session =
        frame.site < DT_RT_MAX_SITES
            ? tracees_.sessions().find(space->runtime.session_of(frame.site))
            : nullptr;
    if (session != nullptr) {
        Registers regs = registers_of(frame, space->runtime.config());
        user_regs_struct user;
        if (thread.is_stopped() && get_regs(thread.tid, user)) {
            regs.fs_base = user.fs_base;
            regs.gs_base = user.gs_base;
        }
        FiringHost host(session->arena, thread, regs);
        host.answer(call);
    }
    space->write(at, std::as_bytes(std::span(&call, 1)));
    if (call.op == DT_RT_UP_TID)
        bases_.learn_from_upcall(thread, call.a[0]);
    if (call.op == DT_RT_UP_LIBRARIES &&
        (call.a[0] != 0 ? linker_.handle_new_text(thread)
                        : linker_.handle_change(thread)))
        client_wait_.hold(thread);
    if (call.op == DT_RT_UP_TRACER)
        tracees_.await_tracer(thread, call.a[0], call.a[1]);
}

Registers registers_of(const dt_rt_frame& frame, const dt_rt_config& config)
{
    Registers regs;
    regs[Reg::rax] = frame.rax;
    regs[Reg::rcx] = frame.rcx;
    regs[Reg::rdx] = frame.rdx;
    regs[Reg::rbx] = frame.rbx;
    regs[Reg::rsp] = frame.rsp;
    regs[Reg::rbp] = frame.rbp;
    regs[Reg::rsi] = frame.rsi;
    regs[Reg::rdi] = frame.rdi;
    regs[Reg::r8] = frame.r8;
    regs[Reg::r9] = frame.r9;
    regs[Reg::r10] = frame.r10;
    regs[Reg::r11] = frame.r11;
    regs[Reg::r12] = frame.r12;
    regs[Reg::r13] = frame.r13;
    regs[Reg::r14] = frame.r14;
    regs[Reg::r15] = frame.r15;
    regs.rflags = frame.rflags;
    regs.rip = config.sites[frame.site].at;
    return regs;
}

} // namespace dt::agent
