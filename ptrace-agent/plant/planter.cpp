// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/planter.hpp"
#include "ptrace-agent/plant/placement.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/hold/refusals.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <algorithm>
#include <optional>
#include <sys/ptrace.h>
#include <unistd.h>

namespace dt::agent {

// What was planted before and lost its jump to a neighbour is told by a note.
static void refuse_breakpoints(PlacedSites& work, const JumpReport& jumps,
                               Mechanism mechanism)
{
    std::erase_if(work.fresh, [&](Tracepoint* tp) {
        if (tp->purpose != Tracepoint::fires || tp->site)
            return false; // ours, or one that has its jump
        SitePlan plan = without_jump(*tp, jumps, mechanism);
        if (plan.form == SitePlan::breakpoint)
            return false;
        std::vector<std::uint32_t> indices = work.sites_of(*tp);
        for (std::uint32_t index : indices)
            work.refused.emplace_back(index, plan.text);
        if (indices.empty() && !tp->firings.empty())
            work.notes.push_back("a probe enabled before is gone: " + plan.text);
        work.space.forget(*tp);
        return true;
    });
}

// Sites of this planting that got a breakpoint because no jump can stand there.
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

static bool has_execed(pid_t pid, const std::vector<Thread*>& threads)
{
    return std::any_of(threads.begin(), threads.end(), [pid](const Thread* thread) {
        return thread->is_pending() && thread->process->pid == pid &&
               thread->event() == PTRACE_EVENT_EXEC;
    });
}

constexpr std::uint64_t vfork_patience_ns = 1'000'000'000;
constexpr std::size_t many_sites = 10'000;
// Their heap is less than M_TRIM_THRESHOLD.
constexpr std::size_t max_prefaulted_sites = 200'000;

// In vfork(2) the target makes no system call, and its child has descriptors of its own.
// That ends soon, but for a child that neither execs nor exits. Where no call is to be
// made, nobody waits.
void Planter::await_calls(std::optional<StoppedWorld>& world, pid_t pid,
                          const std::shared_ptr<AddressSpace>& space,
                          Mechanism mechanism)
{
    bool has_runtime = by_traps(mechanism) || space->runtime.image.value != 0 ||
                       !space->no_runtime.empty();
    bool wants_call = mechanism != Mechanism::uprobe && space->no_injection.empty() &&
                      (space->slot_pages.empty() || !has_runtime);
    std::uint64_t ends = monotonic_ns() + vfork_patience_ns;
    auto may_wait = [&] { return monotonic_ns() < ends && !client_.has_exited(); };
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

// What needs system calls of the target; ready: whether the runtime is in it.
Result<Ok> Planter::prepare_target(StoppedWorld& world, Mechanism mechanism,
                                   std::vector<Tracepoint*>& linker)
{
    AddressSpace& space = world.space();
    if (space.slot_pages.empty() && mechanism != Mechanism::uprobe) {
        if (Thread* thread = world.any_thread())
            injector_.ensure_slots(*thread);
        if (Thread* thread = world.any_thread())
            trap_signals_.learn_action(*thread->process, *thread);
    }
    if (linker_.watch(world, &linker) && space.text_seen != 0 &&
        text_mappings(space.proc_tid()) != space.text_seen) {
        client_wait_.report_libraries_changed(space.owner()); // since the client looked
    }
    // The linker may have gone past its breakpoint before that stood.
    forget_unmapped(space);
    jumps_.reclaim(space);
    if (by_traps(mechanism))
        return Error{Code::unsupported, "-x mechanism=int3"};
    return loader_.ensure(world);
}

static bool any_window_over(const PlacedSites& work)
{
    return !work.space.patches.empty() &&
           std::any_of(work.fresh.begin(), work.fresh.end(), [&](const Tracepoint* tp) {
               return window_over(work.space, *tp) != nullptr;
           });
}

// Planned by a text that is not there any more.
static void forget_plan(PlacedSites& work, const std::vector<Tracepoint*>& linker)
{
    for (Tracepoint* tp : work.fresh) {
        tp->site.reset();
        if (std::find(linker.begin(), linker.end(), tp) == linker.end())
            work.space.forget(*tp);
    }
    work.fresh.clear();
    work.refused.clear();
    work.gone.clear();
    work.unreadable = false;
    work.sites.clear();
    work.window.forget();
    work.space.patches.prepare(work.space, {});
}

Reply Planter::expect(Reader& in)
{
    constexpr std::uint64_t heap_per_site = 780;
    auto n_sites = std::min(in.get<std::uint64_t>(), max_prefaulted_sites);
    auto n_threads = in.get<std::uint32_t>();
    if (!in.ok() || !is_a_processor_idle(n_threads))
        return Body{};
    table_.expect(n_sites);
    prefault_.begin(n_sites * heap_per_site);
    return Body{};
}

// Returns the entry sites that a loop back to the function's first instruction also
// fires. Ascending.
static std::vector<std::uint32_t> fired_by_loops(const PlacedSites& work,
                                                 std::span<const Site> sites)
{
    std::vector<std::uint32_t> all;
    for (const auto& [at, index] : work.sites) {
        const Tracepoint* tp =
            sites[index].kind == SiteKind::entry ? work.space.find(at) : nullptr;
        if (tp != nullptr && is_fired_by_loops(*tp))
            all.push_back(index);
    }
    std::sort(all.begin(), all.end());
    return all;
}

// One request `plant`, from its body to its reply.
struct Planter::Planting {
    Planting(pid_t of, std::shared_ptr<AddressSpace> in)
        : pid(of), space(std::move(in)), work(*space)
    {
    }

    pid_t pid;
    std::shared_ptr<AddressSpace> space;
    Mechanism mechanism = Mechanism::automatic;
    std::span<const Site> sites;
    std::optional<StoppedWorld> stopped; // while the target is stopped
    // The linker's breakpoint, if this planting sets it.
    std::vector<Tracepoint*> linker;
    Result<Ok> runtime = Ok{}; // whether the target has the runtime
    std::size_t text = 0;      // text_mappings() at the end of the first stop
    PlacedSites work;
    JumpWork jumps;
    // Sites that have a breakpoint because they take no jump, with the reason.
    std::vector<std::pair<std::uint32_t, std::string>> breakpoints;
};

constexpr const char* plant_doing = "plant probes";

// The addresses of the request are those of the program before the exec.
static Error another_program()
{
    return {Code::gone, "plant probes: the process runs another program now"};
}

static Error late_thread()
{
    return {Code::busy, "plant probes: a thread of it does not stop"};
}

// Called with the target stopped. Returns an error if probes can no longer be planted in it.
Result<Ok> Planter::check_stopped(const Planting& p) const
{
    if (tracees_.threads_in(*p.space).empty())
        return Error{Code::gone, "plant probes: the process has ended"};
    if (has_execed(p.pid, tracees_.threads_in(*p.space)))
        return another_program();
    if (p.space->given_up) // the main loop removes what was prepared
        return late_thread();
    return Ok{};
}

// The first stop: refuses a target that cannot have probes, and loads the runtime.
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
    // The dynamic linker sets up a shadow stack after the exec at which a command may
    // be planted.
    if (auto can_be = refuse_shadow_stack(p.pid, "the process");
        !can_be && p.mechanism != Mechanism::uprobe) {
        const bool has_probes = p.space->n_tracepoints() != 0;
        now->is_target = !has_probes;
        p.stopped.reset();
        if (has_probes)
            releaser_.release(p.space);
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
    p.work.fresh.insert(p.work.fresh.end(), p.linker.begin(), p.linker.end());
}

// Plans and builds the jumps. What takes none, and may not have a breakpoint, is refused.
void Planter::plan_jumps_of(Planting& p)
{
    if (by_traps(p.mechanism))
        return;
    p.jumps = {};
    p.jumps.periodic = periodic_task(p);
    jumps_.prepare(p.space, p.stopped ? &*p.stopped : nullptr, p.runtime, p.work.fresh,
                   p.jumps);
    refuse_breakpoints(p.work, p.jumps.report, p.mechanism);
}

// While the target runs, its other signals are passed on during the work.
PeriodicTask Planter::periodic_task(const Planting& p)
{
    if (p.stopped)
        return {};
    return PeriodicTask([this] { tracees_.pass_signals(); });
}

// In the second stop: plans again if the text has changed since it was read.
void Planter::replan_if_changed(Planting& p, bool planned)
{
    AddressSpace& space = *p.space;
    // A library that was away for a moment is where it was.
    if (text_mappings(space.proc_tid()) != p.text || p.work.unreadable) {
        if (!p.linker.empty()) // nothing stands there yet to notice it
            client_wait_.report_libraries_changed(space.owner());
        forget_plan(p.work, p.linker);
        forget_unmapped(space);
        place(p);
        planned = false;
    }
    if (!planned)
        plan_jumps_of(p);
}

// Writes the jumps, then the breakpoints.
Result<Ok> Planter::write(Planting& p)
{
    AddressSpace& space = *p.space;
    PlacedSites& work = p.work;
    if (!by_traps(p.mechanism)) {
        jumps_.write(*p.stopped, work.fresh, p.jumps);
        refuse_breakpoints(work, p.jumps.report, p.mechanism);
    }
    for (TargetAddr at : work.grown) {
        if (const Tracepoint* tp = space.find(at))
            jumps_.update(space, *tp);
    }
    p.breakpoints = breakpoints_of(work, p.jumps.report, p.mechanism);
    // Only a breakpoint can change the program's mask and action of SIGTRAP.
    bool unprotected = false;
    if (!work.fresh.empty() && p.mechanism != Mechanism::uprobe) {
        unprotected = !trap_signals_.ensure_rescue(*p.stopped);
        trap_signals_.watch_sigaction(*p.stopped);
    }
    if (space.given_up)
        return late_thread();
    if (unprotected)
        p.breakpoints.clear();
    for (Tracepoint* unwritten :
         unprotected ? work.fresh : space.write_breakpoints(work.fresh)) {
        for (std::uint32_t index : work.sites_of(*unwritten))
            work.refused.emplace_back(
                index, unprotected ? "no thread of it can make a system call now"
                                   : "the text cannot be written");
        space.forget(*unwritten);
    }
    space.statics.settle(space);
    return Ok{};
}

Body Planter::report(Planting& p)
{
    PlacedSites& work = p.work;
    if (!p.jumps.report.note.empty())
        work.notes.push_back(p.jumps.report.note);
    if (const std::size_t n = p.space->rescue.take_unprotected(); n != 0)
        work.notes.push_back(std::to_string(n) +
                             " breakpoints would end the process if ptrace-agent were "
                             "killed: the handler "
                             "that restores the text has no room for them");
    for (std::string& note : work.notes)
        client_.report_error(p.space->owner(), std::move(note));
    std::sort(work.refused.begin(), work.refused.end());
    Writer out;
    out.put(static_cast<std::uint32_t>(p.sites.size() - work.refused.size() -
                                       work.gone.size()));
    out.put(static_cast<std::uint32_t>(p.space->n_tracepoints()));
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
    Planting p(pid, (*process)->space);
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
    (*process)->planted = true;
    (*process)->by_kernel = p.mechanism == Mechanism::uprobe;
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
    p.stopped.emplace(tracees_, p.space);
    if (auto may_be = check_stopped(p); !may_be)
        return may_be.error();
    replan_if_changed(p, planned);
    if (auto written = write(p); !written)
        return written.error();
    p.stopped.reset(); // what is left, and the freeing of it all, need no stop
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

    std::optional<StoppedWorld> stopped(std::in_place, tracees_, space);
    std::vector<Tracepoint*> idle;
    for (const Site& site : list->all()) {
        Tracepoint* tp = space->find(site.at);
        if (tp == nullptr || tp->firings.empty())
            continue;
        std::erase_if(tp->firings, [&site](const Firing& firing) {
            return firing.probe == site.probe;
        });
        if (!tp->serves())
            idle.push_back(tp);
        else if (tp->site)
            jumps_.update(*space, *tp);
    }
    for (Thread* thread : tracees_.threads_in(*space))
        hits_.undo(*thread, false);
    // One whose byte is not ours any more is not ours to restore either.
    std::vector<Tracepoint*> breakpoints;
    std::copy_if(idle.begin(), idle.end(), std::back_inserter(breakpoints),
                 [](Tracepoint* tp) { return !tp->site; });
    space->restore_originals(breakpoints);
    jumps_.remove(*space, idle);
    for (Tracepoint* tp : idle)
        space->forget(*tp);
    space->statics.settle(*space);
    stopped.reset(); // the freeing needs no stop
    table_.reclaim();
    return Body{};
}

} // namespace dt::agent
