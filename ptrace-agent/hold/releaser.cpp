// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/releaser.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

namespace dt::agent {

constexpr std::uint64_t signals_ns = 1'000'000'000;
constexpr std::uint64_t last_call_ns = 100'000'000;
// The time slice of a target in a round of release_everything(). It is divided by n + 1
// after n targets have used up their slice in this round.
constexpr std::uint64_t slice_ns = 100'000'000;
constexpr std::uint64_t least_slice_ns = 10'000'000;
constexpr std::uint64_t all_unmaps_ns = 1'000'000'000;

void Releaser::report_given_up(SessionSet to, pid_t pid, const std::string& why)
{
    AgentEvent event;
    event.kind = AgentEvent::given_up;
    event.pid = pid;
    event.text = "dtrace released process " + std::to_string(pid) + ": " + why +
                 "; its probes were removed, and it continues untraced";
    tracees_.sessions().send_event(to, event);
}

// Reports deferred signals that could not be sent to the thread again.
void Releaser::report_lost_signals(const Thread& thread)
{
    auto n = std::count_if(thread.deferred.begin(), thread.deferred.end(),
                           [](const DeferredSignal& each) { return !each.sent; });
    if (n != 0)
        tracees_.report(thread.process->pid,
                        std::to_string(n) +
                            (n == 1 ? " signal for a thread was lost"
                                    : " signals for a thread were lost") +
                            ", because its signal queue was full");
}

void Releaser::detach_thread(Thread& thread, int signal)
{
    pid_t tid = thread.tid;
    if (signal != 0) {
        restore_deferred(thread, signal);
        signal = exchange_deferred(thread, signal);
    } else {
        signal = std::exchange(thread.delivers, 0);
    }
    resend_deferred(thread);
    bool in_group_stop = thread.status.is_group_stop();
    if (in_group_stop)
        report_lost_signals(thread);
    if (!thread.deferred.empty() && !in_group_stop) {
        thread.leave();
        // Children that the thread creates from now on are not traced.
        ptrace(PTRACE_SETOPTIONS, tid, nullptr, PTRACE_O_TRACEEXEC);
        return tracees_.go_on(thread, signal);
    }
    remove_gs_key(tid, thread.gs_key);
    TrapMask::show(thread);
    ptrace(PTRACE_DETACH, tid, nullptr, static_cast<long>(signal));
    tracees_.remove_thread(thread);
}

void Releaser::leave_probes(StoppedWorld& world, Fd process, dt_rt_away away)
{
    AddressSpace& space = world.space();
    space.call_place.remove_stub(space);
    space.away.children.clear();
    space.away.process = std::move(process);
    Mailbox::ring_for(space.away.process.get());
    RseqAreas::pause(space);
    space.runtime.writer().announce(space.runtime.config().away, away);
    space.presence = Presence::away;
    for (pid_t tid : tracees_.tids_in(space)) {
        Thread* thread = tracees_.find_thread(tid);
        if (thread == nullptr)
            continue;
        thread->held = thread->awaits_tracer = false;
        detach_thread(*thread, 0);
    }
}

bool Releaser::remove_runtime(StoppedWorld& world, Try which)
{
    AddressSpace& space = world.space();
    RuntimeMap& runtime = space.runtime;
    if (runtime.image.value == 0)
        return true;
    runtime.let_fire(space, false);
    space.patches.take_out(space, space.patches.windows());
    bool all_out = true;
    bool any_late = false;
    std::optional<ShutGate> gate(std::in_place, runtime);
    std::optional<WaitBudget::Wait> wait(std::in_place, space.budget);
    for (Thread* thread : tracees_.threads_in(space)) {
        user_regs_struct user;
        if (!thread->is_stopped()) {
            all_out = all_out && thread->in_vfork;
            continue;
        }
        if (!get_regs(thread->tid, user) || !in_our_code(space, {user.rip}))
            continue;
        pid_t tid = thread->tid;
        const WaitStatus status = thread->status;
        bool pending = thread->is_pending();
        siginfo_t info;
        if (pending && thread->event() == 0 && get_siginfo(tid, info) &&
            !is_synchronous(info)) {
            defer_signal(*thread, info);
            pending = false;
        }
        bool out = false;
        if (!runtime_exit_.run_out(*thread, which)) {
            out = tracees_.find_thread(tid) == nullptr;
        } else {
            thread->status = status; // run_out() has overwritten it
            thread->stop(pending);
            out = get_regs(tid, user) && !in_our_code(space, {user.rip});
        }
        all_out = all_out && out;
        any_late = any_late || !out;
    }
    gate.reset();
    wait.reset();
    if (any_late && which == Try::again && !space.budget.given_up())
        return false;
    if (!all_out)
        return true; // a thread may be in our code, which stays mapped
    const std::uint64_t limit_ns = unmap_limit_ns();
    space.budget.restart(limit_ns);
    auto unmap = [&](TargetAddr at, std::uint64_t bytes) {
        if (Thread* thread = world.any_thread())
            injector_.unmap_ours(*thread, at, bytes);
    };
    unmap(runtime.image, runtime.region_bytes);
    for (const auto& [session, memory] : runtime.sessions())
        unmap(memory.at, memory.bytes);
    for (auto [at, bytes] : space.patches.areas)
        unmap(at, bytes);
    if (space.budget.spent_ns() > limit_ns / 4)
        ++n_slow_unmaps_;
    return true;
}

// Returns the time limit for the unmapping in one target. After the consumer has
// exited, other targets wait for their release, so each slow target lowers the limit.
std::uint64_t Releaser::unmap_limit_ns() const
{
    return tracees_.sessions().has_exited() ? all_unmaps_ns / (n_slow_unmaps_ + 1)
                                            : stop_timeout_ns;
}

void Releaser::forget_jumps(AddressSpace& space)
{
    for (Tracepoint* tp : space.tracepoints.all()) {
        if (tp->site)
            space.tracepoints.forget(*tp);
    }
    space.patches.forget_all();
    space.runtime.forget();
    space.native.forget();
}

void Releaser::release(std::shared_ptr<AddressSpace> space, const std::string& why)
{
    if (!why.empty())
        for (auto& [pid, process] : tracees_.processes())
            if (process->space == space && process->is_target()) {
                report_given_up(process->sessions(), pid, why);
                process->interests.clear();
            }
    if (!tracees_.attend(space))
        return leave_inert(space);
    remove_all(space, Try::last);
    await_signals(space->budget.given_up() ? second_timeout_ns : signals_ns);
}

void Releaser::leave_inert(const std::shared_ptr<AddressSpace>& space)
{
    if (space->presence == Presence::away) {
        space->runtime.let_fire(*space, false); // fails if the process has exited
        space->runtime.writer().announce(space->runtime.config().away, DT_RT_KEPT_OUT);
    }
    tracees_.remove_untraced(*space);
    space->forget_all();
}

void Releaser::wait_for(const std::function<bool(const Thread&)>& which,
                        std::uint64_t ends)
{
    while (monotonic_ns() < ends) {
        std::vector<pid_t> tids;
        for (auto& [tid, thread] : tracees_.threads()) {
            if (which(*thread))
                tids.push_back(tid);
        }
        if (tids.empty())
            return;
        tracees_.collect(Wait::a_while);
        runtime_exit_.retry_full_queues();
        for (pid_t tid : tids) {
            Thread* thread = tracees_.find_thread(tid);
            if (thread != nullptr && thread->is_pending())
                tracees_.handle_stop(*thread);
        }
    }
}

void Releaser::await_signals(std::uint64_t timeout_ns)
{
    auto takes_signals = [](const Thread& thread) {
        return thread.leaving != Leaving::no && !thread.deferred.empty();
    };
    std::uint64_t ends = monotonic_ns() + timeout_ns;
    wait_for(takes_signals, ends);
    std::vector<pid_t> late;
    for (auto& [tid, thread] : tracees_.threads()) {
        if (!takes_signals(*thread))
            continue;
        late.push_back(tid);
        resend_deferred(*thread);
        report_lost_signals(*thread);
        thread->deferred.clear();
        if (!thread->is_stopped())
            ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    }
    auto is_late = [&late](const Thread& thread) {
        return std::find(late.begin(), late.end(), thread.tid) != late.end();
    };
    wait_for(is_late, ends + last_call_ns);
}

void Releaser::await_late_calls(std::uint64_t timeout_ns)
{
    auto is_left = [](const Thread& thread) {
        return thread.leaving != Leaving::no &&
               (thread.late_call.has_value() || thread.is_pending());
    };
    wait_for(is_left, monotonic_ns() + timeout_ns);
}

bool Releaser::remove_all(std::shared_ptr<AddressSpace> space, Try which)
{
    StoppedWorld world(tracees_, space, which);
    if (which == Try::again && !world.in_time() && !space->budget.given_up())
        return false;
    for (Thread* thread : tracees_.threads_in(*space)) {
        Process& process = *thread->process;
        if (process.is_target())
            tracees_.report(process.pid, shares_memory);
        process.interests.clear();
        process.no_events = true; // its exit is no longer reported
        hits_.undo(*thread, true);
    }
    // If a thread has executed another program, the kernel does not report the exits of
    // the process's other threads. begin_program() removes them.
    for (pid_t tid : tracees_.tids_in(*space)) {
        Thread* thread = tracees_.find_thread(tid);
        if (thread != nullptr && thread->is_pending() &&
            thread->event() == PTRACE_EVENT_EXEC)
            follower_.begin_program(*thread);
    }
    std::vector<Tracepoint*> breakpoints;
    for (Tracepoint* tp : space->tracepoints.all()) {
        if (!tp->site)
            breakpoints.push_back(tp);
    }
    space->tracepoints.restore_originals(breakpoints);
    space->statics.lower_all(*space);
    if (!remove_runtime(world, which))
        return false;
    // A thread that did not stop may be in a slot (slots.hpp). In that case the slots
    // and the rescue code stay mapped.
    bool all_stopped = true;
    for (Thread* thread : tracees_.threads_in(*space))
        all_stopped = all_stopped && (thread->is_stopped() || thread->in_vfork);
    trap_signals_.remove_rescue(world, all_stopped);
    for (auto [page, bytes] : space->slots.pages()) {
        if (Thread* thread = all_stopped ? world.any_thread() : nullptr)
            injector_.unmap_ours(*thread, page, bytes);
    }
    space->slots.forget_pages();
    left_.remove_at_release(world);
    const TargetAddr stub_in_use =
        injector_.is_stub_in_use(*space) ? space->call_place.stub() : TargetAddr{};
    // The stub must be removed before the threads are detached.
    if (stub_in_use.value == 0)
        space->call_place.remove_stub(*space);
    for (Thread* thread : tracees_.threads_in(*space)) {
        thread->held = false;
        thread->awaits = 0;
        if (!thread->is_stopped()) {
            thread->leave();
            continue;
        }
        bool signalled = thread->is_pending() && thread->event() == 0;
        detach_thread(*thread, signalled ? thread->signal() : 0);
    }
    // The remaining threads are detached at their next stop.
    space->forget_all();
    space->call_place.keep_stub(stub_in_use); // until its call has returned
    return true;
}

std::vector<std::shared_ptr<AddressSpace>> Releaser::take_unreleased()
{
    std::set<std::shared_ptr<AddressSpace>> all;
    for (auto& [pid, process] : tracees_.processes()) {
        process->interests.clear();
        if (process->no_events)
            continue;
        if (process->created && !process->started) {
            // No client is left to start the command.
            process->no_events = true;
            ::kill(pid, SIGKILL);
            continue;
        }
        all.insert(process->space);
    }
    return {all.begin(), all.end()};
}

void Releaser::release_everything()
{
    n_slow_unmaps_ = 0;
    std::uint64_t ends = 0; // deadline of all rounds, set after the first round
    std::size_t n_late = 0;
    auto is_released = [&](const std::shared_ptr<AddressSpace>& space) {
        const bool last = ends != 0 && monotonic_ns() >= ends;
        tracees_.begin_turn();
        if (!tracees_.attend(space)) {
            if (!last && space->presence == Presence::away) {
                tracees_.collect(Wait::a_while); // another tracer may detach
                return false;
            }
            leave_inert(space);
            return true;
        }
        space->budget.begin_turn(tracees_.turn());
        if (!space->budget.given_up())
            space->budget.restart(std::max(slice_ns / (n_late + 1), least_slice_ns));
        const bool done = remove_all(space, last ? Try::last : Try::again);
        n_late += done ? 0 : 1;
        return done;
    };
    for (auto spaces = take_unreleased(); !spaces.empty(); spaces = take_unreleased()) {
        while (!spaces.empty()) {
            n_late = 0;
            std::erase_if(spaces, is_released);
            if (ends == 0)
                ends = monotonic_ns() + stop_timeout_ns;
        }
    }
    await_signals(ends > monotonic_ns() ? signals_ns : second_timeout_ns);
    await_late_calls(stop_timeout_ns);
}

bool Releaser::release_given_up()
{
    const auto next = tracees_.take_given_up();
    if (!next)
        return false;
    const auto& [owner, why] = *next;
    std::shared_ptr<AddressSpace> space;
    std::vector<std::pair<pid_t, SessionSet>> targets;
    for (auto& [pid, process] : tracees_.processes()) {
        if (!process->space->budget.given_up() || process->space->owner() != owner)
            continue;
        space = process->space;
        if (process->is_target() && !process->no_events)
            targets.emplace_back(pid, process->sessions());
        process->interests.clear();
    }
    if (space == nullptr)
        return true;
    // The release may take seconds, so the clients receive the reason before it.
    for (const auto& [pid, sessions] : targets)
        report_given_up(sessions, pid, why);
    release(space);
    table_.reclaim();
    return true;
}

bool Releaser::release_abandoned()
{
    const std::shared_ptr<AddressSpace> space = tracees_.take_abandoned();
    if (space == nullptr)
        return false;
    release(space);
    table_.reclaim();
    return true;
}

Reply Releaser::kill_target(Reader& in)
{
    auto pid = in.get<pid_t>();
    auto process = tracees_.find_target(pid, "kill");
    if (!process)
        return process.error();
    (*process)->interests.erase(tracees_.sessions().current().number);
    (*process)->no_events = !(*process)->is_target();
    ::kill(pid, SIGKILL);
    return Body{};
}

} // namespace dt::agent
