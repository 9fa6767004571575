// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/planter.hpp"
#include "ptrace-agent/plant/placement.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/hold/guests.hpp"
#include "ptrace-agent/hold/refusals.hpp"
#include "ptrace-agent/plant/linker.hpp"
#include "ptrace-agent/plant/tracer_calls.hpp"
#include "ptrace-agent/trap/watched_calls.hpp"

#include <algorithm>
#include <optional>
#include <sys/ptrace.h>
#include <unistd.h>

namespace dt::agent {

// Removes from work.fresh each tracepoint that has no jump and must not have a
// breakpoint. Refuses its sites. If the tracepoint belongs to an earlier request and
// its jump was removed, adds a note for the user.
static void refuse_breakpoints(PlacedSites& work, const JumpReport& jumps,
                               Mechanism mechanism)
{
    std::erase_if(work.fresh, [&](Tracepoint* tp) {
        if (tp->purpose != Tracepoint::fires || tp->site)
            return false; // the tracepoint has a jump, or the agent itself needs it
        SitePlan plan = without_jump(*tp, jumps, mechanism);
        if (plan.form == SitePlan::breakpoint)
            return false;
        std::vector<std::uint32_t> indices = work.sites_of(*tp);
        for (std::uint32_t index : indices)
            work.refused.emplace_back(index, plan.text);
        if (indices.empty() && !tp->firings.empty())
            work.notes.push_back("a previously enabled probe was removed: " +
                                 plan.text);
        work.space.tracepoints.forget(*tp);
        return true;
    });
}

// Returns the sites of this request that get a breakpoint because no jump fits there,
// with the reasons.
static std::vector<std::pair<std::uint32_t, std::string>>
breakpoints_of(const PlacedSites& work, const JumpReport& jumps, Mechanism mechanism)
{
    std::vector<std::pair<std::uint32_t, std::string>> found;
    if (mechanism != Mechanism::automatic || !jumps.note.empty())
        return found;
    for (const Tracepoint* tp : work.fresh) {
        if (tp->purpose != Tracepoint::fires || tp->site || !tp->may_be_breakpoint)
            continue;
        SitePlan plan = without_jump(*tp, jumps, mechanism);
        for (std::uint32_t index : work.sites_of(*tp))
            found.emplace_back(index, plan.text);
    }
    std::sort(found.begin(), found.end());
    return found;
}

// Returns whether a thread is stopped because the process has executed another program.
static bool has_execed(pid_t pid, const std::vector<Thread*>& threads)
{
    return std::any_of(threads.begin(), threads.end(), [pid](const Thread* thread) {
        return thread->is_pending() && thread->process->pid == pid &&
               thread->event() == PTRACE_EVENT_EXEC;
    });
}

constexpr std::uint64_t vfork_timeout_ns = 1'000'000'000;
constexpr std::size_t many_sites = 10'000; // prefaulting for fewer sites saves no time
// The heap for this many sites is below M_TRIM_THRESHOLD (run_agent()). malloc would
// return a larger heap to the kernel.
constexpr std::size_t max_prefaulted_sites = 200'000;

// Stops the target. If planting needs a system call, first waits until vfork(2)
// returns, because a thread inside vfork(2) cannot make calls for us. The child cannot
// make them instead, because it has its own descriptors. The wait ends after
// vfork_timeout_ns.
void Planter::await_calls(std::optional<StoppedWorld>& world, pid_t pid,
                          const std::shared_ptr<AddressSpace>& space,
                          Mechanism mechanism)
{
    const unsigned session = tracees_.sessions().current().number;
    bool has_runtime = by_traps(mechanism) || space->runtime.has_session(session) ||
                       !space->runtime.refusal.empty();
    bool wants_call = mechanism != Mechanism::uprobe &&
                      space->call_place.refusal().empty() &&
                      (space->slots.pages().empty() || !has_runtime);
    std::uint64_t ends = monotonic_ns() + vfork_timeout_ns;
    auto may_wait = [&] {
        return monotonic_ns() < ends && !tracees_.sessions().has_exited();
    };
    auto any_in_vfork = [&] {
        auto all = tracees_.threads_in(*space);
        return std::any_of(all.begin(), all.end(),
                           [](const Thread* thread) { return thread->in_vfork; });
    };
    for (;;) {
        world.emplace(tracees_, space);
        auto threads = tracees_.threads_in(*space);
        if (!wants_call || threads.empty() || has_execed(pid, threads) || !may_wait() ||
            (world->any_thread() != nullptr && !any_in_vfork()))
            return;
        world.reset();
        do {
            Mailbox::ring_in_ms(1);
            tracees_.collect(Wait::block);
            while (tracees_.any_ready() && may_wait()) {
                tracees_.begin_turn();
                tracees_.handle_ready();
            }
            tracees_.handle_alarms();
        } while (any_in_vfork() && may_wait());
    }
}

// Does the part of planting that needs system calls in the target. Returns an error if
// the runtime is not loaded. Adds the linker's tracepoint to `linker` if its breakpoint
// has not been written yet.
Result<Ok> Planter::prepare_target(StoppedWorld& world, Mechanism mechanism,
                                   std::vector<Tracepoint*>& linker)
{
    AddressSpace& space = world.space();
    if (space.slots.pages().empty() && mechanism != Mechanism::uprobe) {
        if (Thread* thread = world.any_thread())
            injector_.ensure_slots(*thread);
        if (Thread* thread = world.any_thread())
            trap_signals_.learn_action(*thread->process, *thread);
    }
    if (linker_.watch(world, &linker) &&
        space.known_text.changed_since_grab(space.proc_tid())) {
        // The mappings have changed since the client examined them.
        client_wait_.report_libraries_changed(space.owner());
    }
    // The linker may have unmapped text before its breakpoint was written. No event has
    // reported that.
    space.known_text.forget_unmapped(space);
    jumps_.reclaim(space);
    const bool is_shared = space.runtime.image.value != 0;
    if (mechanism == Mechanism::uprobe || (mechanism == Mechanism::int3 && !is_shared))
        return Error{Code::unsupported, "-x mechanism=int3"};
    // Where another session has a jump, this session's probes also fire through it.
    auto loaded =
        loader_.ensure(world, SessionSet().set(tracees_.sessions().current().number));
    (void)closer_.unmap_left(world);
    return loaded;
}

// Returns whether an existing window covers a new tracepoint.
static bool any_window_over(const PlacedSites& work)
{
    return !work.space.patches.empty() &&
           std::any_of(work.fresh.begin(), work.fresh.end(), [&](const Tracepoint* tp) {
               return window_over(work.space, *tp) != nullptr;
           });
}

// Discards the tracepoints and trampolines that were planned for text that has changed.
static void forget_plan(PlacedSites& work, const std::vector<Tracepoint*>& linker)
{
    for (Tracepoint* tp : work.fresh) {
        disconnect(work.space, *tp);
        if (std::find(linker.begin(), linker.end(), tp) == linker.end())
            work.space.tracepoints.forget(*tp);
    }
    work.fresh.clear();
    work.refused.clear();
    work.gone.clear();
    work.unreadable = false;
    work.sites.clear();
    work.window.forget();
    work.space.patches.prepare(work.space, {});
    work.space.watched.tracer_calls = work.watched_before;
}

Reply Planter::expect(Reader& in)
{
    constexpr std::uint64_t heap_per_site = 780; // bytes of the agent's heap
    auto n_sites = std::min(in.get<std::uint64_t>(), max_prefaulted_sites);
    auto n_threads = in.get<std::uint32_t>();
    if (!in.ok() || !is_a_processor_idle(n_threads))
        return Body{};
    table_.expect(n_sites);
    prefault_.begin(n_sites * heap_per_site);
    return Body{};
}

// Returns the indices of the entry sites that also fire in a loop, in ascending order.
static std::vector<std::uint32_t> fired_by_loops(const PlacedSites& work,
                                                 std::span<const Site> sites)
{
    std::vector<std::uint32_t> all;
    for (const auto& [at, index] : work.sites) {
        const Tracepoint* tp = sites[index].kind == SiteKind::entry
                                   ? work.space.tracepoints.find(at)
                                   : nullptr;
        if (tp != nullptr && is_fired_by_loops(*tp))
            all.push_back(index);
    }
    std::sort(all.begin(), all.end());
    return all;
}

// The state of one `plant` request.
struct Planter::Planting {
    Planting(pid_t of, std::shared_ptr<AddressSpace> in, unsigned session)
        : pid(of), space(std::move(in)), work(*space, session)
    {
    }

    pid_t pid;
    std::shared_ptr<AddressSpace> space;
    Mechanism mechanism = Mechanism::automatic;
    std::span<const Site> sites;
    std::optional<StoppedWorld> stopped; // set while the target is stopped
    // The linker's tracepoint, if this request writes its breakpoint.
    std::vector<Tracepoint*> linker;
    Result<Ok> runtime = Ok{}; // an Error if the runtime could not be loaded
    std::size_t text = 0;      // hash of the text mappings at the end of the first stop
    PlacedSites work;
    JumpWork jumps;
    // Sites that have a breakpoint because no jump fits, with the reasons.
    std::vector<std::pair<std::uint32_t, std::string>> breakpoints;
};

constexpr const char* plant_doing = "plant probes";

// Returns the error for a process that has executed another program since the client
// made the request.
static Error another_program()
{
    return {Code::gone, "plant probes: the process has executed another program"};
}

static Error late_thread()
{
    return {Code::busy, "plant probes: a thread of the process did not stop in time"};
}

// Returns an error if probes can no longer be planted. The target must be stopped.
Result<Ok> Planter::check_stopped(const Planting& p) const
{
    if (tracees_.threads_in(*p.space).empty())
        return Error{Code::gone, "plant probes: the process has ended"};
    if (has_execed(p.pid, tracees_.threads_in(*p.space)))
        return another_program();
    if (p.space->budget.given_up()) // the main loop will detach from the process
        return late_thread();
    return Ok{};
}

// Performs the first stop: refuses a target that cannot have probes, and loads the
// runtime.
Result<Ok> Planter::prepare(Planting& p)
{
    await_calls(p.stopped, p.pid, p.space, p.mechanism);
    Process* now = tracees_.find_process(p.pid);
    if (now == nullptr)
        return Error{Code::gone, "plant probes: the process has ended"};
    if (now->space != p.space)
        return another_program();
    if (auto may_be = check_stopped(p); !may_be)
        return may_be;
    // Check for a shadow stack at each request. The dynamic linker enables it, and may
    // run only after the first request.
    if (auto can_be = refuse_shadow_stack(p.pid, "the process");
        !can_be && p.mechanism != Mechanism::uprobe) {
        const bool has_probes = p.space->tracepoints.size() != 0;
        p.stopped.reset();
        if (has_probes) {
            now->interests.erase(tracees_.sessions().current().number);
            releaser_.release(p.space, can_be.error().text);
        }
        return can_be.error().during(plant_doing);
    }
    p.runtime = prepare_target(*p.stopped, p.mechanism, p.linker);
    p.text = text_mappings(p.space->proc_tid());
    p.stopped.reset();
    return Ok{};
}

// Turns the sites into tracepoints.
void Planter::place(Planting& p)
{
    place_all(p.work, p.sites, periodic_task(p));
    // The agent does not detach from a program with breakpoints (SelfTracing).
    if (!by_traps(p.mechanism))
        watch_tracer_calls(*p.space, p.work.mappings, p.work.fresh);
    p.work.fresh.insert(p.work.fresh.end(), p.linker.begin(), p.linker.end());
}

// Plans and builds the jumps. Refuses the sites that get neither a jump nor a
// breakpoint.
void Planter::plan_jumps_of(Planting& p)
{
    if (!by_traps(p.mechanism)) {
        p.jumps = {};
        p.jumps.periodic = periodic_task(p);
        jumps_.prepare(p.space, p.stopped ? &*p.stopped : nullptr, p.runtime,
                       p.work.fresh, p.jumps);
    }
    refuse_breakpoints(p.work, p.jumps.report, p.mechanism);
}

// Returns a task that passes on the signals of a running target, and cancels the
// planting if the client has exited.
PeriodicTask Planter::periodic_task(const Planting& p)
{
    return PeriodicTask([this, stopped = p.stopped.has_value()] {
        if (!stopped)
            tracees_.pass_signals();
        return !tracees_.sessions().check_in_wait();
    });
}

// Called in the second stop. If the text has changed since it was read, recreates the
// tracepoints and plans all jumps again. Otherwise plans the jumps only if `planned` is
// false.
void Planter::replan_if_changed(Planting& p, bool planned)
{
    AddressSpace& space = *p.space;
    // A failed read also counts as a change. If a library was unmapped and mapped
    // again, the hash is the same, but a read in between may have failed.
    if (text_mappings(space.proc_tid()) != p.text || p.work.unreadable) {
        // The linker's breakpoint has not been written yet, so it has not reported this
        // change.
        if (!p.linker.empty())
            client_wait_.report_libraries_changed(space.owner());
        forget_plan(p.work, p.linker);
        space.known_text.forget_unmapped(space);
        place(p);
        planned = false;
    }
    if (!planned)
        plan_jumps_of(p);
}

// Removes everything that was planned but not written, because the client has exited.
// Other sessions may plant probes at the same places.
Error Planter::cancel(Planting& p)
{
    forget_plan(p.work, p.linker);
    for (Tracepoint* tp : p.linker) {
        if (tp->purpose == Tracepoint::library_change)
            p.space->watched.linker = {};
        p.space->tracepoints.forget(*tp);
    }
    p.linker.clear();
    return {Code::gone, "plant probes: the client has exited"};
}

// Writes the jumps, then the breakpoints.
Result<Ok> Planter::write(Planting& p)
{
    AddressSpace& space = *p.space;
    PlacedSites& work = p.work;
    if (!by_traps(p.mechanism)) {
        jumps_.write(*p.stopped, work.fresh, p.jumps);
        leave_tracer_calls_without_jump(space, work.fresh);
        refuse_breakpoints(work, p.jumps.report, p.mechanism);
    }
    for (const auto& each : work.grown) {
        const std::uint32_t index = each.second;
        Tracepoint* tp = space.tracepoints.find(each.first);
        if (tp == nullptr || jumps_.update(space, *tp))
            continue;
        std::erase_if(tp->firings, [&](const Firing& firing) {
            return firing.session == work.session &&
                   firing.probe == p.sites[index].probe;
        });
        jumps_.update(space, *tp);
        work.refused.emplace_back(index, tables_full);
    }
    p.breakpoints = breakpoints_of(work, p.jumps.report, p.mechanism);
    // Only breakpoints need the rescue handler.
    bool unprotected = false;
    if (!work.fresh.empty() && p.mechanism != Mechanism::uprobe) {
        unprotected = !trap_signals_.ensure_rescue(*p.stopped);
        watch_signal_calls(*p.stopped);
    }
    if (space.budget.given_up())
        return late_thread();
    if (unprotected)
        p.breakpoints.clear();
    const auto all_unwritten =
        unprotected ? work.fresh : space.tracepoints.write_breakpoints(work.fresh);
    if (p.mechanism != Mechanism::uprobe)
        for (std::string& note : space.rescue.take_notes(space, work.fresh))
            work.notes.push_back(std::move(note));
    for (Tracepoint* unwritten : all_unwritten) {
        for (std::uint32_t index : work.sites_of(*unwritten))
            work.refused.emplace_back(
                index,
                unprotected
                    ? "no thread of the process can make a system call at the moment"
                    : "the instruction has changed or cannot be overwritten");
        space.tracepoints.forget(*unwritten);
    }
    space.statics.settle(space);
    return Ok{};
}

// Returns the reply to the client. Sends the notes as events.
Body Planter::report(Planting& p)
{
    PlacedSites& work = p.work;
    if (!p.jumps.report.note.empty())
        work.notes.push_back(p.jumps.report.note);
    for (std::string& note : work.notes)
        tracees_.report(p.space->owner(), std::move(note));
    std::sort(work.refused.begin(), work.refused.end());
    Writer out;
    out.put(static_cast<std::uint32_t>(p.sites.size() - work.refused.size() -
                                       work.gone.size()));
    out.put(static_cast<std::uint32_t>(p.space->tracepoints.size()));
    for (const auto* list : {&work.refused, &p.breakpoints}) {
        out.put(static_cast<std::uint32_t>(list->size()));
        for (const auto& [index, why] : *list)
            out.put(index).text(why);
    }
    std::sort(work.gone.begin(), work.gone.end());
    auto put = [&out](const std::vector<std::uint32_t>& indices) {
        out.put(static_cast<std::uint32_t>(indices.size()));
        out.raw(indices.data(), indices.size() * sizeof indices[0]);
    };
    put(work.gone);
    put(fired_by_loops(work, p.sites));
    return out.body();
}

Reply Planter::plant(Reader& in, const std::vector<Fd>& fds)
{
    auto pid = in.get<pid_t>();
    auto process = tracees_.find_target(pid, "plant probes in");
    if (!process)
        return process.error();
    const unsigned session = tracees_.sessions().current().number;
    Interest& interest = (*process)->interests[session];
    Planting p(pid, (*process)->space, session);
    auto n_execs = in.get<std::uint32_t>();
    p.mechanism = in.get<Mechanism>();
    auto n_seen = in.get<std::uint32_t>();
    p.work.seen = in.array<SeenText>(n_seen);
    auto n_statics = in.get<std::uint32_t>(), n_operands = in.get<std::uint32_t>();
    p.work.statics.sites = in.array<StaticFacts>(n_statics);
    p.work.statics.operands = in.array<dt_operand>(n_operands);
    auto list = SiteList::take(in, fds);
    if (!list)
        return list.error().during(plant_doing);
    p.sites = list->all();
    if (auto may = check_number(tracees_, p.sites.size()); !may)
        return may.error().during(plant_doing);
    interest.planted = true;
    interest.by_kernel = p.mechanism == Mechanism::uprobe;
    if (n_execs != (*process)->n_execs)
        return another_program();

    if (auto prepared = prepare(p); !prepared)
        return prepared.error();
    if (p.runtime && p.sites.size() >= many_sites) {
        for (std::span<std::byte> table :
             p.space->runtime.room_for(std::min(p.sites.size(), max_prefaulted_sites)))
            prefault_.add(table);
    }
    Prefault::InBackground in_background(prefault_);
    place(p);
    const bool planned = !any_window_over(p.work);
    if (planned)
        plan_jumps_of(p);
    if (tracees_.sessions().has_exited())
        return cancel(p);
    p.stopped.emplace(tracees_, p.space);
    if (auto may_be = check_stopped(p); !may_be)
        return may_be.error();
    replan_if_changed(p, planned);
    // If other sessions' windows were removed, their sites must be planted again.
    if (tracees_.sessions().has_exited() && p.jumps.displaced.empty())
        return cancel(p);
    if (auto written = write(p); !written)
        return written.error();
    p.stopped.reset(); // the target may run while memory is freed
    table_.reclaim();
    return report(p);
}

Reply Planter::remove(Reader& in, const std::vector<Fd>& fds)
{
    auto process = tracees_.find_target(in.get<pid_t>(), "remove probes from");
    if (!process)
        return process.error();
    auto list = SiteList::take(in, fds);
    if (!list)
        return list.error().during("remove probes");
    std::shared_ptr<AddressSpace> space = (*process)->space;

    const unsigned session = tracees_.sessions().current().number;

    std::optional<StoppedWorld> stopped(std::in_place, tracees_, space);
    std::vector<Tracepoint*> changed;
    for (const Site& site : list->all()) {
        Tracepoint* tp = space->tracepoints.find(site.at);
        if (tp == nullptr || tp->firings.empty())
            continue;
        std::erase_if(tp->firings, [&](const Firing& firing) {
            return firing.session == session && firing.probe == site.probe;
        });
        changed.push_back(tp);
    }
    closer_.remove_idle(*stopped, changed);
    stopped.reset(); // the target may run while memory is freed
    table_.reclaim();
    return Body{};
}

} // namespace dt::agent
