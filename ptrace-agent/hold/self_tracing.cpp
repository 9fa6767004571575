// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/self_tracing.hpp"

#include "base/clock_ns.hpp"
#include "base/pidfd.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/hold/attendance.hpp"
#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <set>
#include <sys/syscall.h>

namespace dt::agent {

constexpr std::uint64_t grace_ns = 2'000'000'000; // for the program's tracer to attach
constexpr std::uint64_t first_look_ns =
    200'000'000; // until Attendance examines the process
// The pause before the agent tries again to detach. It doubles each time.
constexpr std::uint64_t first_pause_ns = 2'000'000, max_pause_ns = 128'000'000;
constexpr std::uint64_t period_ns = 60'000'000'000;
// In one period: attempts to detach, and prctl(2) calls that did not name a descendant.
constexpr unsigned max_attempts = 4, max_strangers = 16;
constexpr int max_steps = 100'000; // of a thread that leaves the engine without a gate

// Returns whether a descendant of the process has this pid in the innermost pid namespace
// of the descendant.
static bool has_descendant(pid_t of, pid_t number)
{
    return std::ranges::any_of(pids_in_proc(), [&](pid_t pid) {
        return pid != of && innermost_pid(read_proc_file(pid, "status")) == number &&
               is_descendant(pid, of);
    });
}

static bool has_child(pid_t pid)
{
    return std::ranges::any_of(threads_of(pid), [pid](pid_t tid) {
        const std::string file = "task/" + std::to_string(tid) + "/children";
        return !read_proc_file(pid, file.c_str()).empty();
    });
}

// Returns why the agent will not detach from the process, or an empty string.
static std::string refusal(const Process& process)
{
    const AddressSpace& space = *process.space;
    if (is_confined())
        return "dtrace can detach only from processes of its own user";
    if (process.interests.size() > 1)
        return "several dtrace processes trace the program";
    const auto all = space.tracepoints.all();
    if (space.rescue.installed() || std::ranges::any_of(all, [](const Tracepoint* tp) {
            return tp->written && !tp->site;
        }))
        return "the program has breakpoints (-x mechanism=jump prevents them)";
    return "";
}

// Returns whether the agent can detach from the thread now.
static bool is_ready(const Thread& thread)
{
    // The main loop first handles a signal, which may be that of a fault in our code.
    return thread.is_stopped() && (!thread.is_pending() || thread.is_interrupt()) &&
           thread.leaving == Leaving::no && thread.age == ThreadAge::known &&
           (!thread.held || thread.awaits_tracer) && !thread.late_call &&
           !thread.in_vfork && !thread.running_out && !thread.step.active &&
           thread.deferred.empty();
}

void SelfTracing::await_tracer(Thread& thread, std::uint64_t number,
                               std::uint64_t second)
{
    const Process& process = *thread.process;
    AddressSpace& space = *process.space;
    if (!process.is_target() || process.no_events || process.is_guest())
        return;
    if (const std::string why = refusal(process); !why.empty())
        return report_failure(space, why);
    AwayState& away = space.away;
    if (const std::uint64_t now = monotonic_ns();
        now >= away.period_began_ns + period_ns) {
        away.period_began_ns = now;
        away.n_attempts = away.n_strangers = 0;
    }
    if (number == SYS_prctl) {
        // To look for the descendant takes milliseconds.
        if (away.n_strangers == max_strangers)
            return;
        if (!has_descendant(process.pid, static_cast<pid_t>(second))) {
            ++away.n_strangers;
            return;
        }
    }
    if (away.detach_ends_ns == 0) {
        if (away.n_attempts == max_attempts)
            return report_failure(space, "dtrace has detached, or has tried to, " +
                                             std::to_string(max_attempts) +
                                             " times in one minute");
        ++away.n_attempts;
        away.detach_ends_ns = monotonic_ns() + stop_timeout_ns;
        away.pause_ns = first_pause_ns;
    }
    thread.held = thread.awaits_tracer = true;
    alarms_.set(Alarms::self_tracing, monotonic_ns());
}

void SelfTracing::work()
{
    if (!alarms_.is_due(Alarms::self_tracing))
        return;
    alarms_.set(Alarms::self_tracing, 0);
    std::set<std::shared_ptr<AddressSpace>> spaces;
    for (const auto& [pid, process] : tracees_.processes())
        if (process->space->away.detach_ends_ns != 0)
            spaces.insert(process->space);
    for (const auto& space : spaces) {
        AwayState& away = space->away;
        if (space->presence != Presence::attached || detach_from(space)) {
            away.detach_ends_ns = 0;
        } else if (monotonic_ns() < away.detach_ends_ns) {
            alarms_.set_if_unset(Alarms::self_tracing, monotonic_ns() + away.pause_ns);
            away.pause_ns = std::min(2 * away.pause_ns, max_pause_ns);
        } else {
            away.detach_ends_ns = 0;
            let_continue(*space, "dtrace could not detach in time");
        }
    }
}

void SelfTracing::report_failure(AddressSpace& space, const std::string& why)
{
    if (!std::exchange(space.away.reported_failure, true))
        tracees_.report(space.owner(),
                        "the program is about to trace itself, which will fail, "
                        "because dtrace stays attached to it: " +
                            why);
}

// Resumes the held threads, although the agent stays attached. Reports the reason.
void SelfTracing::let_continue(AddressSpace& space, const std::string& why)
{
    report_failure(space, why);
    for (pid_t tid : tracees_.tids_in(space)) {
        Thread* thread = tracees_.find_thread(tid);
        if (thread == nullptr || !std::exchange(thread->awaits_tracer, false))
            continue;
        thread->held = false;
        if (thread->is_pending())
            tracees_.add_ready(tid);
        else if (thread->is_stopped())
            tracees_.go_on(*thread);
    }
}

// Lets the threads leave the engine. Returns false if a thread cannot leave it now. The
// caller then tries again later.
bool SelfTracing::empty_engine(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    ShutGate gate(space.runtime);
    for (pid_t tid : tracees_.tids_in(space)) {
        for (int n = 0; n < max_steps; ++n) {
            Thread* thread = tracees_.find_thread(tid);
            user_regs_struct user;
            siginfo_t info;
            if (thread == nullptr || !get_regs(tid, user))
                return false;
            if (may_run_alone(space, {user.rip}))
                break;
            if (space.slots.contain({user.rip}) || space.budget.given_up() ||
                (thread->is_pending() && !thread->is_interrupt()) ||
                !runtime_exit_.run_to_gate(*thread, Try::again))
                return false;
            const bool is_step = thread->event() == 0 && get_siginfo(tid, info) &&
                                 info.si_code == TRAP_TRACE;
            if (!thread->is_interrupt() && !is_step) {
                thread->move_to(ThreadState::pending);
                tracees_.add_ready(tid);
                return false;
            }
        }
    }
    return true;
}

// Describes the firings and children that are missed while the agent is away. Returns ""
// if nothing is missed.
std::string SelfTracing::missed(const AddressSpace& space) const
{
    const auto tracepoints = space.tracepoints.all();
    const bool any_drops = std::ranges::any_of(tracepoints, [&space](auto* tp) {
        return tp->site && !works_alone(space, *tp);
    });
    std::string all;
    auto add = [&all](const std::string& text) {
        all += (all.empty() ? "" : "; ") + text;
    };
    if (any_drops)
        add("clauses that do more than count, sum or quantize are not executed, and "
            "their firings are counted as drops");
    if (const Process* process = tracees_.find_process(space.owner()))
        for (const auto& [session, interest] : process->interests) {
            if (interest.follow != Follow::none)
                add("new children are not traced");
            if (sampler_.is_sampling(session))
                add("profile probes do not fire in it");
        }
    return all;
}

bool SelfTracing::detach_from(const std::shared_ptr<AddressSpace>& space)
{
    Fd pidfd = open_pidfd(space->owner());
    StoppedWorld world(tracees_, space, Try::again);
    const Process* process = tracees_.find_process(space->owner());
    if (process == nullptr || process->space != space)
        return true; // it has exited or executed another program
    for (const auto& [pid, other] : tracees_.processes())
        if (other->space == space && other.get() != process)
            return false; // a vfork child runs in the same memory
    if (!pidfd || !world.in_time() || injector_.is_stub_in_use(*space))
        return false;
    auto all_ready = [&] {
        const auto threads = tracees_.threads_in(*space);
        return !threads.empty() &&
               std::ranges::all_of(threads, [](auto* each) { return is_ready(*each); });
    };
    // A breakpoint or a session may have been added meanwhile.
    if (!refusal(*process).empty() || !all_ready() || !empty_engine(world) ||
        !all_ready() || space->budget.given_up())
        return false;
    AwayState& away = space->away;
    if (const std::string what = missed(*space);
        !what.empty() && !std::exchange(away.reported_missed, true))
        tracees_.report(space->owner(),
                        "the program is about to trace itself, so dtrace detaches "
                        "from it until its own tracer has detached; meanwhile, " +
                            what);
    away.is_summoned = false;
    away.is_kept_out = true;
    const std::uint64_t now = monotonic_ns();
    away.tracer_ends_ns = now + grace_ns;
    jumps_.update_own(*space);
    releaser_.leave_probes(world, std::move(pidfd), DT_RT_KEPT_OUT);
    alarms_.set(Alarms::attendance, now + first_look_ns);
    return true;
}

bool SelfTracing::is_tracer_expected(AddressSpace& space)
{
    std::uint64_t& ends = space.away.tracer_ends_ns;
    if (ends == 0)
        return false;
    const pid_t pid = space.owner();
    const bool is_traced =
        status_number(read_proc_file(pid, "status"), "TracerPid") != 0;
    const std::uint64_t now = monotonic_ns();
    // At first, the thread may not have made its call yet.
    const bool may_have_failed = now >= ends - grace_ns + first_look_ns;
    if (is_traced || now >= ends || (may_have_failed && !has_child(pid)))
        ends = 0;
    return ends != 0;
}

} // namespace dt::agent
