// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/follower.hpp"

#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/plant/tracer_calls.hpp"
#include "ptrace-agent/trap/watched_calls.hpp"

#include <sys/syscall.h>

namespace dt::agent {

Reply Follower::set_follow(Reader& in)
{
    auto process = tracees_.find_target(in.get<pid_t>(), "follow the children of");
    if (!process)
        return process.error();
    Interest& interest = (*process)->interests[tracees_.sessions().current().number];
    interest.follow = in.get<Follow>();
    interest.follow_exec = in.get<FollowExec>();
    return Body{};
}

static Inheritance inheritance_of(const Process& parent)
{
    const AddressSpace& space = *parent.space;
    auto is_inherited = [&](const Firing& firing) {
        auto its = parent.interests.find(firing.session);
        const Follow what =
            its != parent.interests.end() ? its->second.follow : Follow::none;
        return what == Follow::all ||
               (what == Follow::statics && firing.kind == SiteKind::static_probe);
    };
    Inheritance all;
    bool any_fires = false;
    for (Tracepoint* tp : space.tracepoints.all()) {
        if (!tp->written && !tp->site)
            continue;
        std::vector<Firing> firings;
        std::copy_if(tp->firings.begin(), tp->firings.end(),
                     std::back_inserter(firings), is_inherited);
        any_fires = any_fires || !firings.empty();
        if (!firings.empty() || tp->call_number != 0)
            all.sites.push_back({tp->insn, std::move(firings), tp->first, tp->end,
                                 tp->beyond, tp->further, tp->loop_end,
                                 tp->site.has_value(), tp->may_be_breakpoint,
                                 tp->call_number});
    }
    if (!any_fires)
        all.sites.clear();
    all.statics = space.statics;
    auto add = [&all](TargetAddr at, std::uint64_t bytes) {
        if (at.value != 0)
            all.mappings.emplace_back(at, bytes);
    };
    add(space.runtime.image, space.runtime.region_bytes);
    for (const auto& [session, memory] : space.runtime.sessions())
        add(memory.at, memory.bytes);
    for (auto [at, bytes] : space.patches.areas)
        add(at, bytes);
    for (auto [at, bytes] : space.slots.pages())
        add(at, bytes);
    all.journal = space.journal;
    return all;
}

bool Follower::follow(const Process& parent, pid_t child, WaitStatus status)
{
    std::map<unsigned, Interest> interests;
    for (const auto& [session, interest] : parent.interests)
        if (interest.follow != Follow::none) {
            Interest& its = interests[session];
            its.followed = true;
            its.by_kernel = interest.by_kernel;
            its.follow = interest.follow;
            its.task_probes = interest.task_probes;
            if (interest.follow_exec == FollowExec::all)
                its.follow_exec = FollowExec::all;
        }
    if (interests.empty())
        return false;
    Inheritance inherited = inheritance_of(parent);
    if (inherited.sites.empty() && !parent.space->watched.linker.known() &&
        !parent.any(&Interest::follow_exec, FollowExec::all) &&
        !parent.any(&Interest::by_kernel, true) &&
        std::ranges::none_of(
            interests, [](const auto& each) { return each.second.has_task_probes(); }))
        return false;
    Process& process =
        tracees_.add_process(child, std::make_shared<AddressSpace>(child, table_));
    process.interests = std::move(interests);
    process.trap_action = parent.trap_action;
    process.trap_records = parent.trap_records;
    process.inherited = std::move(inherited);
    process.space->reports_exits = parent.space->reports_exits;
    Thread& thread = tracees_.add_thread(process, child);
    thread.move_to(ThreadState::pending);
    thread.age = ThreadAge::newborn;
    thread.status = status;
    tracees_.add_ready(child);
    return true;
}

void Follower::drop_inherited(StoppedWorld& world, const Inheritance& inherited)
{
    for (auto [at, bytes] : inherited.mappings) {
        user_regs_struct user;
        Thread* thread = world.any_thread();
        if (thread != nullptr && get_regs(thread->tid, user) &&
            TargetAddr{user.rip} - at >= bytes)
            injector_.unmap_ours(*thread, at, bytes);
    }
}

void Follower::begin(Thread& newborn)
{
    newborn.age = ThreadAge::known;
    newborn.move_to(ThreadState::handled);
    std::shared_ptr<AddressSpace> space = newborn.process->space;
    Inheritance inherited = std::move(newborn.process->inherited);
    const bool by_kernel = newborn.process->by_kernel();
    StoppedWorld world(tracees_, space);
    space->statics = std::move(inherited.statics);
    space->journal.inherit(*space, inherited.journal);
    drop_inherited(world, inherited);
    if (Thread* thread = world.any_thread(); thread != nullptr && !by_kernel)
        injector_.ensure_slots(*thread);
    std::vector<Tracepoint*> fresh;
    linker_.watch(world, &fresh);
    std::size_t n_jumps = 0;
    // A session may have ended since the fork.
    for (InheritedSite& site : inherited.sites)
        std::erase_if(site.firings, [&](const Firing& firing) {
            return newborn.process->interests.count(firing.session) == 0;
        });
    std::erase_if(inherited.sites, [](const InheritedSite& site) {
        return site.firings.empty() && site.tracer_call == 0;
    });
    for (const InheritedSite& site : inherited.sites) {
        Tracepoint* tp = space->tracepoints.find(site.insn.at);
        if (tp == nullptr)
            fresh.push_back(tp = &space->tracepoints.add(site.insn));
        tp->firings = site.firings;
        tp->may_be_breakpoint = site.may_be_breakpoint;
        if (site.tracer_call != 0) {
            tp->purpose = Tracepoint::tracer_call;
            tp->call_number = site.tracer_call;
            space->watched.tracer_calls = true;
        }
        if (!site.jump)
            continue; // the parent has a breakpoint here, and the child gets one, too
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
    leave_tracer_calls_without_jump(*space, fresh);
    std::size_t n_lost = std::erase_if(fresh, [&](Tracepoint* tp) {
        if (tp->purpose != Tracepoint::fires || tp->first.value == 0 ||
            tp->may_be_breakpoint)
            return false;
        // A jump is not possible here, and the user does not permit a breakpoint.
        space->tracepoints.forget(*tp);
        return true;
    });
    bool unprotected = false;
    if (!fresh.empty() && !by_kernel) {
        unprotected = !trap_signals_.ensure_rescue(world);
        watch_signal_calls(world);
    }
    const auto unwritten =
        unprotected ? fresh : space->tracepoints.write_breakpoints(fresh);
    if (!by_kernel)
        for (std::string& note : space->rescue.take_notes(*space, fresh))
            tracees_.report(space->owner(), std::move(note));
    for (Tracepoint* failed : unwritten) {
        space->tracepoints.forget(*failed);
        ++n_lost;
    }
    if (!space->rescue.installed()) // the child has no breakpoints
        trap_mask_.show_all(world);
    space->statics.settle(*space);
    if (n_lost == 0)
        return;
    tracees_.report(space->owner(),
                    "follow process " + std::to_string(space->owner()) + ": " +
                        std::to_string(n_lost) +
                        (n_lost == 1 ? " site that is" : " sites that are") +
                        " probed in the parent cannot be probed in this child" +
                        (jumps.note.empty() ? "" : ": " + jumps.note));
}

void Follower::become_target(Process& guest)
{
    const Process* parent = tracees_.find_process(guest.parent);
    if (parent == nullptr)
        return;
    for (const auto& [session, interest] : parent->interests) {
        if (interest.follow_exec != FollowExec::all)
            continue;
        Interest& its = guest.interests[session];
        its.followed = true;
        its.follow = interest.follow;
        its.follow_exec = FollowExec::all;
        its.task_probes = interest.task_probes;
    }
    AgentEvent event;
    event.kind = AgentEvent::forked;
    event.pid = guest.parent;
    event.child = guest.pid;
    event.status = 1;
    tracees_.sessions().send_event(guest.sessions(), event);
}

void Follower::hold_after_exec(Thread& thread)
{
    const pid_t tid = thread.tid;
    WaitStatus status;
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    Waited waited = resume_thread(PTRACE_CONT, tid, 0)
                        ? tracees_.wait_for_stop(*thread.process->space, tid, status)
                        : Waited::ended;
    if (waited == Waited::late)
        return tracees_.leave_late(thread,
                                   "its execve() did not finish before the deadline");
    if (waited == Waited::ended)
        return tracees_.drop_thread(thread, status);
    thread.status = status;
    thread.interrupted = false;
    // If the process is in a group-stop, the kernel reports the group-stop instead of
    // the interrupt. The thread needs no hold, because the group-stop keeps it stopped.
    if (!thread.is_interrupt()) {
        thread.move_to(ThreadState::pending);
        tracees_.add_ready(tid);
        return;
    }
    client_wait_.hold(thread);
}

constexpr const char* late_child =
    "a new child or thread did not stop before the deadline";

// Finishes the parent's out-of-line step (struct Step) in a new child. The child starts
// with a copy of the parent's registers.
static void finish_step_in(pid_t child, const Step& step)
{
    user_regs_struct user;
    if (!step.active || !get_regs(child, user))
        return;
    Registers regs = from_user_regs(user);
    finish_out_of_line(step.plan, step.run, regs);
    to_user_regs(regs, user);
    set_regs(child, user);
}

static bool same_group(pid_t pid, pid_t tid)
{
    return syscall(SYS_tgkill, pid, tid, 0) == 0;
}

static bool same_memory(pid_t parent, pid_t child, int event)
{
    // By default, assume that only a child of fork(2) has its own memory.
    return share_memory(parent, child).value_or(event != PTRACE_EVENT_FORK);
}

void Follower::handle_new_task(Thread& parent)
{
    unsigned long message = 0;
    if (!get_event_message(parent.tid, message))
        return;
    auto child = static_cast<pid_t>(message);
    int event = parent.event();
    Process& process = *parent.process;
    const bool is_thread =
        event == PTRACE_EVENT_CLONE && same_group(process.pid, child);
    task_events_.created(parent, child, is_thread);
    if (is_thread) {
        if (parent.step.active) {
            // The parent is executing a displaced instruction in a slot. The new thread
            // starts in the same slot.
            WaitStatus status;
            Waited waited = tracees_.wait_for_stop(*process.space, child, status);
            if (waited == Waited::ended)
                return;
            if (waited == Waited::late)
                tracees_.give_up(*process.space, late_child);
            else
                tracees_.keep_early_stop(child, status);
            if (waited == Waited::stopped)
                finish_step_in(child, parent.step);
        }
        tracees_.adopt(process, child);
        if (Thread* thread = tracees_.find_thread(child))
            TrapMask::inherit(parent, *thread);
        return;
    }
    bool shared = same_memory(process.pid, child, event);
    if (event == PTRACE_EVENT_VFORK)
        parent.in_vfork = true;
    if (!shared)
        return forked(parent, child);

    // The child uses the parent's tracepoints until it execs or exits.
    WaitStatus status;
    Waited waited = tracees_.wait_for_stop(*process.space, child, status);
    if (waited == Waited::ended)
        return;
    if (waited == Waited::late)
        tracees_.give_up(*process.space, late_child);
    else
        tracees_.keep_early_stop(child, status);
    if (waited == Waited::stopped)
        finish_step_in(child, parent.step);
    Process& guest = tracees_.add_process(child, process.space);
    guest.parent = process.pid;
    guest.trap_action = process.trap_action;
    guest.trap_records = process.trap_records;
    rseq_.allow(*guest.space);
    tracees_.adopt(guest, child);
    if (Thread* thread = tracees_.find_thread(child))
        TrapMask::inherit(parent, *thread);
}

void Follower::forked(Thread& parent, pid_t child)
{
    WaitStatus status;
    tracees_.has_forked(*parent.process->space);
    Waited waited = tracees_.wait_for_stop(*parent.process->space, child, status);
    if (waited == Waited::ended)
        return;
    if (waited == Waited::stopped) {
        finish_step_in(child, parent.step);
        remove_gs_key(child, parent.gs_key);
    }
    parent.process->space->tracepoints.restore_copy(child);
    parent.process->space->patches.restore_in(child);
    parent.process->space->call_place.remove_stub_in(child);
    if (waited == Waited::late) {
        // The child's text has already been restored.
        parent.process->space->statics.lower_in(*parent.process->space, child);
        tracees_.detach_at_first_stop(child);
        return tracees_.give_up(*parent.process->space, late_child);
    }
    if (follow(*parent.process, child, status)) {
        Thread* followed = tracees_.find_thread(child);
        TrapMask::inherit(parent, *followed);
        TrapMask::learn(*followed);
    } else {
        TrapMask::show_in(parent, child);
        parent.process->space->statics.lower_in(*parent.process->space, child);
        ptrace(PTRACE_DETACH, child, nullptr, nullptr);
    }
    SessionSet followers;
    if (const Process* followed = tracees_.find_process(child))
        followers = followed->sessions();
    AgentEvent event;
    event.kind = AgentEvent::forked;
    event.pid = parent.process->pid;
    event.child = child;
    event.status = 1;
    tracees_.sessions().send_event(followers, event);
    event.status = 0;
    tracees_.sessions().send_event(parent.process->sessions() & ~followers, event);
}

// Returns whether the processes in an address space are traced only because a target
// shared their memory. Children that a target creates are traced for another reason,
// because their probes fire, too.
bool Follower::has_only_old_guests(const AddressSpace& space) const
{
    return std::ranges::all_of(tracees_.processes(), [&](const auto& each) {
        const Process& process = *each.second;
        return process.space.get() != &space || process.is_old_guest;
    });
}

// A target gets a new address space. Then the main loop releases the processes that
// shared the old one, if has_only_old_guests() is true.
void Follower::begin_program(Thread& thread)
{
    Process& process = *thread.process;
    TrapMask::end_program(thread);
    for (auto& [tid, other] : process.threads) {
        if (other.get() == &thread)
            continue;
        // The thread that called execve(2) has taken over the leader's tid, but its
        // deferred signals are in the record of its old tid. The old tid is unknown, so
        // the deferred signals of all other records are moved to `thread`.
        std::copy_if(other->deferred.begin(), other->deferred.end(),
                     std::back_inserter(thread.deferred),
                     [](const DeferredSignal& each) { return !each.sent; });
    }
    tracees_.remove_others(thread);
    process.space->slots.free(thread.tid);
    thread.step.active = false;
    thread.reenter = false;
    thread.awaits_tracer = false;
    thread.in_vfork = false; // the old leader, which may have set it, has exited
    thread.fs_base = 0;
    thread.changes_base = false;
    thread.gs_key = 0;
    thread.restarting.reset();
    thread.slot_holds = TargetAddr{};
    if (process.started) { // the old program's probes are no longer awaited
        thread.held = false;
        thread.awaits = 0;
        thread.hold_ends_ns = 0;
    }
    pid_t guest = tracees_.guest_of(thread);
    if (guest == 0 && process.space->runtime.image.value != 0)
        for (const auto& session : tracees_.sessions().all())
            session->arena.free_shards_of(process.pid);
    if (!process.is_target())
        return;
    auto before = std::exchange(process.space,
                                std::make_shared<AddressSpace>(process.pid, table_));
    if (guest == 0) {
        // A process that is not traced may still run in this memory, so the text is
        // restored. If the memory is no longer in use, the writes fail without harm.
        before->tracepoints.restore_originals(before->tracepoints.without_jump());
        before->forget_all();
    } else if (before->owner() == process.pid) {
        before->hand_over(guest);
        // The guest has not registered a struct rseq, so the runtime in the old memory
        // must not use restartable sequences.
        rseq_.end(*before);
    }
    if (guest != 0 && has_only_old_guests(*before))
        tracees_.abandon(before);
    // execve(2) resets a handler, but not SIG_IGN.
    if (process.trap_action.handler > 1)
        process.trap_action = TrapAction{true};
    TrapMask::learn(thread);
}

} // namespace dt::agent
