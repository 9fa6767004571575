// SPDX-License-Identifier: MIT
// -x follow=fork, -x follow=exec: what becomes of a target's children, and of a target that
// execs.
//
//   parent's fork ─ the child gets clean text, as ever ─ what the parent had is noted
//   child's turn  ─ inherited mappings of ours go ─ its own runtime ─ planted ─ it runs
//
// The child is a target of its own from then on: a runtime that fires with its pid, its
// own jumps and breakpoints, its exit reported. It has run nothing when its probes stand.
// Planting takes the world of the child, which cannot be taken while another is stopped: so
// it waits until the loop comes to it.
//
// An exec drops the probes and lets a child go. With follow=exec it stays a target, and so
// does a vfork child, which was none before: it waits at the end of execve(2) until the
// client has planted the probes of the new program; its libraries are reported when
// they are loaded. A command of -c stays a target through its own execs unless
// follow=none is set.
#include "ptrace-agent/agent.hpp"

#include "ptrace-agent/hold/tracing.hpp"

#include <sys/syscall.h>

namespace dt::agent {

Agent::Reply Agent::do_follow(Reader& in, const std::vector<Fd>&)
{
    auto process = target(in.get<pid_t>(), "follow the children of");
    if (!process)
        return process.error();
    (*process)->follow = in.get<Follow>();
    (*process)->follow_exec = in.get<FollowExec>();
    return Body{};
}

static Inheritance inheritance_of(const AddressSpace& space, Follow what)
{
    Inheritance all;
    for (Tracepoint* tp : space.tracepoints()) {
        if (!tp->written && !tp->site)
            continue;
        std::vector<Firing> firings = tp->firings;
        if (what == Follow::statics)
            std::erase_if(firings, [](const Firing& firing) {
                return firing.kind != SiteKind::static_probe;
            });
        if (!firings.empty())
            all.sites.push_back({tp->insn, std::move(firings), tp->first, tp->end,
                                 tp->beyond, tp->further, tp->loop_end,
                                 tp->site.has_value(), tp->may_be_breakpoint});
    }
    all.statics = space.statics;
    auto add = [&all](TargetAddr at, std::uint64_t bytes) {
        if (at.value != 0)
            all.mappings.emplace_back(at, bytes);
    };
    add(space.runtime.image, space.runtime.region_bytes);
    add(space.runtime.arena, space.runtime.arena_bytes);
    for (auto [at, bytes] : space.patches.areas)
        add(at, bytes);
    for (auto [at, bytes] : space.slot_pages)
        add(at, bytes);
    return all;
}

// The child is stopped at its first instruction, with clean text. False: there is
// nothing to follow it with, neither probes nor a watch for libraries.
bool Agent::follow(const Process& parent, pid_t child, WaitStatus status)
{
    Inheritance inherited = inheritance_of(*parent.space, parent.follow);
    if (inherited.sites.empty() && parent.space->link_debug.value == 0 &&
        parent.follow_exec != FollowExec::all && !parent.by_kernel)
        return false;
    Process& process =
        tracees_.add_process(child, std::make_shared<AddressSpace>(child, table_));
    process.is_target = process.followed = true;
    process.follow = parent.follow;
    if (parent.follow_exec == FollowExec::all)
        process.follow_exec = FollowExec::all;
    process.by_kernel = parent.by_kernel;
    process.trap_action = parent.trap_action;
    process.trap_blocked = parent.trap_blocked;
    process.inherited = std::move(inherited);
    Thread& thread = tracees_.add_thread(process, child);
    thread.move_to(ThreadState::pending);
    thread.age = ThreadAge::newborn;
    thread.status = status;
    learn_mask(thread);
    tracees_.add_ready(child);
    return true;
}

// Where the child does not stand itself.
void Agent::drop_inherited(StoppedWorld& world, const Inheritance& inherited)
{
    for (auto [at, bytes] : inherited.mappings) {
        user_regs_struct user;
        Thread* thread = world.any_thread();
        if (thread != nullptr && get_regs(thread->tid, user) &&
            TargetAddr{user.rip} - at >= bytes)
            (void)injector_.call(*thread, SYS_munmap, {at.value, bytes, 0, 0, 0, 0});
    }
}

void Agent::begin_followed(Thread& newborn)
{
    newborn.age = ThreadAge::known;
    newborn.move_to(ThreadState::handled);
    std::shared_ptr<AddressSpace> space = newborn.process->space;
    Inheritance inherited = std::move(newborn.process->inherited);
    const bool by_kernel = newborn.process->by_kernel;
    StoppedWorld world(tracees_, space);
    space->statics = std::move(inherited.statics);
    drop_inherited(world, inherited);
    if (Thread* thread = world.any_thread(); thread != nullptr && !by_kernel)
        injector_.ensure_slots(*thread);
    std::vector<Tracepoint*> fresh;
    watch_linker(world, &fresh);
    std::size_t n_jumps = 0;
    for (const InheritedSite& site : inherited.sites) {
        Tracepoint* tp = space->find(site.insn.at);
        if (tp == nullptr)
            fresh.push_back(tp = &space->add(site.insn));
        tp->firings = site.firings;
        tp->may_be_breakpoint = site.may_be_breakpoint;
        if (!site.jump)
            continue; // nor here: its surroundings are not told
        tp->first = site.first;
        tp->end = site.end;
        tp->beyond = site.beyond;
        tp->further = site.further;
        tp->loop_end = site.loop_end;
        ++n_jumps;
    }
    JumpReport jumps;
    if (n_jumps != 0)
        jumps = jumps_.plant(world, space, fresh);
    std::size_t n_lost = std::erase_if(fresh, [&](Tracepoint* tp) {
        if (tp->purpose != Tracepoint::fires || tp->first.value == 0 ||
            tp->may_be_breakpoint)
            return false;
        space->forget(*tp); // a breakpoint is not what it had
        return true;
    });
    bool unprotected = false;
    if (!fresh.empty() && !by_kernel) {
        unprotected = !ensure_rescue(world);
        watch_sigaction(world);
    }
    for (Tracepoint* odd : unprotected ? fresh : space->write_breakpoints(fresh)) {
        space->forget(*odd);
        ++n_lost;
    }
    space->statics.settle(*space);
    if (n_lost == 0)
        return;
    client_.report_error(space->owner(),
                         std::to_string(n_lost) + " places of process " +
                             std::to_string(space->owner()) +
                             " cannot be probed as its parent's are" +
                             (jumps.note.empty() ? "" : ": " + jumps.note));
}

// A vfork child that is about to leave its parent's memory, if its parent wants that.
void Agent::become_target(Process& guest)
{
    const Process* parent = tracees_.find_process(guest.parent);
    if (parent == nullptr || !parent->is_target ||
        parent->follow_exec != FollowExec::all)
        return;
    guest.is_target = guest.followed = true;
    guest.follow = parent->follow;
    guest.follow_exec = FollowExec::all;
    AgentEvent event;
    event.kind = AgentEvent::forked;
    event.pid = guest.parent;
    event.child = guest.pid;
    event.status = 1;
    client_.send_event(std::move(event));
}

// The event came in the midst of execve(2), where nobody can make a call for us.
void Agent::hold_after_exec(Thread& thread)
{
    const pid_t tid = thread.tid;
    WaitStatus status;
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    Waited waited = resume_thread(PTRACE_CONT, tid, 0)
                        ? tracees_.wait_for_stop(*thread.process->space, tid, status)
                        : Waited::ended;
    if (waited == Waited::late)
        return tracees_.leave_late(thread, "its execve() did not end in time");
    if (waited == Waited::ended)
        return tracees_.drop_thread(thread, status);
    thread.status = status;
    thread.interrupted = false;
    if (!thread.is_interrupt()) { // a group-stop: it waits anyway
        thread.move_to(ThreadState::pending);
        tracees_.add_ready(tid);
        return;
    }
    hold_for_client(thread);
}

} // namespace dt::agent
