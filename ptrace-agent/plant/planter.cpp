// SPDX-License-Identifier: MIT
#include "ptrace-agent/plant/planter.hpp"
#include "ptrace-agent/plant/placement.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/hold/refusals.hpp"
#include "ptrace-agent/plant/linker.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <sys/ptrace.h>
#include <unistd.h>

namespace dt::agent {

// Is something else mapped there than what the client made its sites from? Where there was
// no text and is none, that is another matter.
static bool has_changed(const std::vector<SeenText>& seen, const Mapping* now,
                        TargetAddr at)
{
    auto after = std::upper_bound(
        seen.begin(), seen.end(), at,
        [](TargetAddr addr, const SeenText& text) { return addr < text.begin; });
    const bool was_there = after != seen.begin() && at < std::prev(after)->end;
    const bool is_there = now != nullptr && now->executable;
    if (!was_there || now == nullptr)
        return was_there || is_there;
    const SeenText& then = *std::prev(after);
    if (now->file.inode != then.inode || now->file.major != then.major ||
        now->file.minor != then.minor)
        return true;
    return now->file.inode != 0 &&
           now->offset + (at - now->begin) != then.offset + (at - then.begin);
}

// known: the tracepoint that is there already, or null.
static std::string place(Planting& work, Tracepoint* known, std::uint32_t index,
                         const Site& site)
{
    Tracepoint* tp = known;
    const Mapping* mapping = find_mapping(work.mappings, site.at);
    if (!work.seen.empty() && has_changed(work.seen, mapping, site.at)) {
        work.gone.push_back(index);
        return {};
    }
    if (tp != nullptr && site.no_stack != 0 && tp->site)
        return "it may have no stack left (Go), and a jump is there for another probe";
    if (tp == nullptr) {
        if (site.never != NeverProbed::no)
            return std::string(text_of(site.never));
        if (mapping == nullptr || !mapping->executable)
            return "the address is not in executable memory";
        std::span<const std::byte> text = work.window.at(site.at);
        work.unreadable = work.unreadable || text.empty();
        std::size_t n_compared = std::min<std::size_t>(site.n_expected, 8);
        if (!std::equal(site.expected.begin(), site.expected.begin() + n_compared,
                        text.begin(), text.begin() + std::min(n_compared, text.size())))
            return "the text in memory is not the file's";
        auto insn = x86_64.decode(text, site.at);
        if (!insn)
            return insn.error().text;
        if (Displaced plan = x86_64.plan_displaced(*insn);
            plan.how == Displaced::refused)
            return std::string(plan.reason);
        tp = &work.space.add(*insn);
        tp->first = site.first;
        tp->end = site.end;
        tp->beyond = site.beyond;
        tp->further = site.further;
        tp->no_stack = site.no_stack != 0;
        if (site.kind == SiteKind::entry)
            tp->loop_end = {site.arg0};
        work.fresh.push_back(tp);
    }
    tp->may_be_breakpoint = tp->may_be_breakpoint || site.breakpoint != 0;
    if (!tp->site && (!tp->written || tp->purpose != Tracepoint::fires))
        work.sites.emplace_back(site.at, index);
    for (const Firing& firing : tp->firings) {
        if (firing.probe == site.probe && firing.kind == site.kind)
            return {}; // planted before
    }
    std::uint64_t arg0 = site.kind == SiteKind::entry ? 0 : site.arg0;
    if (has_operands(site.kind)) {
        StaticFacts facts;
        if (arg0 < work.statics.sites.size())
            facts = work.statics.sites[arg0];
        auto operands = std::span<const dt_operand>(work.statics.operands);
        if (facts.first_operand > operands.size() ||
            facts.n_operands > operands.size() - facts.first_operand)
            facts.n_operands = facts.first_operand = 0;
        auto own = operands.subspan(facts.first_operand, facts.n_operands);
        std::vector<dt_operand> of_jump;
        if (site.kind == SiteKind::jump_out) {
            auto to = destination_of(tp->insn);
            if (!to || own.size() < 1 + operands_per_part)
                return "nothing tells where its indirect jump leads";
            of_jump.assign(own.begin(), own.end());
            of_jump[0] = *to; // from the instruction in memory, not from the file
            own = of_jump;
        }
        auto entry = work.space.statics.add(site.at, facts, own);
        if (!entry)
            return "there are too many arguments of static probes and indirect jumps";
        arg0 = *entry;
    }
    tp->firings.push_back({site.probe, site.kind, arg0});
    if (tp->site)
        work.grown.push_back(tp->at());
    return {};
}

SitePlan without_jump(const Tracepoint& tp, const JumpReport& jumps,
                      Mechanism mechanism)
{
    if (mechanism == Mechanism::int3)
        return {SitePlan::breakpoint, "-x mechanism=int3"};
    if (mechanism == Mechanism::uprobe)
        return {SitePlan::breakpoint, "-x mechanism=uprobe"};
    bool unknown = tp.first.value == 0;
    auto why = jumps.reasons.find(tp.at());
    SitePlan plan{SitePlan::refused, why != jumps.reasons.end() ? why->second
                                     : tp.no_stack ? "it may have no stack left (Go)"
                                     : unknown     ? "its surroundings are not known"
                                                   : "no jump can stand there"};
    if (mechanism == Mechanism::automatic) {
        const bool surrounded = !unknown || tp.no_stack;
        if (!surrounded || !jumps.note.empty() || tp.may_be_breakpoint)
            plan.form = SitePlan::breakpoint;
        else
            plan.text += "; -x mechanism=any sets a breakpoint";
    }
    return plan;
}

// What was planted before and lost its jump to a neighbour is told by a note.
static void refuse_breakpoints(Planting& work, const JumpReport& jumps,
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
breakpoints_of(const Planting& work, const JumpReport& jumps, Mechanism mechanism)
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
constexpr std::size_t n_few = 4; // the agent's own, say
constexpr std::size_t many_sites = 10'000;
// Their heap is less than M_TRIM_THRESHOLD.
constexpr std::size_t most_foreseen = 200'000;

void place_all(Planting& work, std::span<const Site> sites, Meanwhile meanwhile)
{
    work.mappings = mappings_of(work.space.speaker());
    work.space.expect(sites.size());
    std::vector<std::uint32_t> order(sites.size());
    std::iota(order.begin(), order.end(), 0u);
    auto before = [&sites](auto a, auto b) { return sites[a].at < sites[b].at; };
    if (!std::is_sorted(order.begin(), order.end(), before))
        std::stable_sort(order.begin(), order.end(), before);
    work.fresh.reserve(sites.size());
    work.sites.reserve(sites.size());
    // Where none is yet, looking for those that are there takes long for nothing.
    const bool any_there = work.space.n_tracepoints() > n_few;
    const std::vector<Tracepoint*> few =
        any_there ? std::vector<Tracepoint*>() : work.space.tracepoints();
    auto known = [&](TargetAddr at) -> Tracepoint* {
        if (!work.fresh.empty() && work.fresh.back()->at() == at)
            return work.fresh.back();
        if (any_there)
            return work.space.find(at);
        auto it = std::find_if(few.begin(), few.end(),
                               [at](const Tracepoint* tp) { return tp->at() == at; });
        return it == few.end() ? nullptr : *it;
    };
    for (std::uint32_t index : order) {
        meanwhile();
        const Site& site = sites[index];
        if (std::string why = place(work, known(site.at), index, site); !why.empty())
            work.refused.emplace_back(index, std::move(why));
    }
}

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
        text_mappings(space.speaker()) != space.text_seen) {
        client_wait_.report_libraries_changed(space.owner()); // since the client looked
    }
    // The linker may have gone past its breakpoint before that stood.
    forget_unmapped(space);
    jumps_.reclaim(space);
    if (by_traps(mechanism))
        return Error{Code::unsupported, "-x mechanism=int3"};
    return loader_.ensure(world);
}

static bool any_window_over(const Planting& work)
{
    return !work.space.patches.empty() &&
           std::any_of(work.fresh.begin(), work.fresh.end(), [&](const Tracepoint* tp) {
               return window_over(work.space, *tp) != nullptr;
           });
}

// Planned by a text that is not there any more.
static void forget_plan(Planting& work, const std::vector<Tracepoint*>& linker)
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
    auto n_sites = std::min(in.get<std::uint64_t>(), most_foreseen);
    auto n_threads = in.get<std::uint32_t>();
    if (!in.ok() || !is_a_processor_idle(n_threads))
        return Body{};
    table_.expect(n_sites);
    ahead_.begin(n_sites * heap_per_site);
    return Body{};
}

bool is_fired_by_loops(const Tracepoint& tp)
{
    return tp.loop_end.value != 0 && !(tp.site && tp.led_past);
}

// Returns the entry sites that a loop back to the function's first instruction also
// fires. Ascending.
static std::vector<std::uint32_t> fired_by_loops(const Planting& work,
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

Reply Planter::plant(Reader& in, const std::vector<Fd>& fds)
{
    auto pid = in.get<pid_t>();
    auto process = tracees_.find_target(pid, "plant probes in");
    if (!process)
        return process.error();
    auto n_execs = in.get<std::uint32_t>();
    auto mechanism = in.get<Mechanism>();
    auto n_seen = in.get<std::uint32_t>();
    auto seen = in.array<SeenText>(n_seen);
    StaticTable statics;
    auto n_statics = in.get<std::uint32_t>(), n_operands = in.get<std::uint32_t>();
    statics.sites = in.array<StaticFacts>(n_statics);
    statics.operands = in.array<dt_operand>(n_operands);
    auto list = SiteList::take(in, fds);
    if (!list)
        return list.error().during("plant probes");
    std::span<const Site> sites = list->all();
    std::shared_ptr<AddressSpace> space = (*process)->space;
    (*process)->planted = true;
    (*process)->by_kernel = mechanism == Mechanism::uprobe;
    // The addresses are those of the program that it ran before.
    const Error another{Code::gone,
                        "plant probes: the process runs another program now"};
    if (n_execs != (*process)->n_execs)
        return another;

    std::optional<StoppedWorld> stopped;
    await_calls(stopped, pid, space, mechanism);
    Process* now = tracees_.find_process(pid);
    if (now == nullptr)
        return Error{Code::gone, "plant probes: the process has ended"};
    if (now->space != space || has_execed(pid, tracees_.threads_in(*space)))
        return another;
    const Error late{Code::busy, "plant probes: a thread of it does not stop"};
    if (space->given_up)
        return late;
    // The dynamic linker sets up a shadow stack after the exec at which a command may
    // be planted.
    if (auto can_be = refuse_shadow_stack(pid, "the process");
        !can_be && mechanism != Mechanism::uprobe) {
        const bool has_probes = space->n_tracepoints() != 0;
        now->is_target = !has_probes;
        stopped.reset();
        if (has_probes)
            releaser_.release(space);
        return can_be.error().during("plant probes");
    }
    std::vector<Tracepoint*> linker;
    Result<Ok> ready = prepare_target(*stopped, mechanism, linker);
    std::size_t text = text_mappings(space->speaker());
    stopped.reset();

    if (ready && sites.size() >= many_sites) {
        for (std::span<std::byte> table :
             space->runtime.room_for(std::min(sites.size(), most_foreseen)))
            ahead_.add(table);
    }
    MemoryAhead::Beside beside(ahead_);
    Planting work(*space);
    work.seen = std::move(seen);
    work.statics = std::move(statics);
    auto while_it_runs = [&] { return Meanwhile([this] { tracees_.pass_signals(); }); };
    auto place = [&](Meanwhile meanwhile) {
        place_all(work, sites, std::move(meanwhile));
        work.fresh.insert(work.fresh.end(), linker.begin(), linker.end());
    };
    JumpWork jumps;
    auto plan = [&](StoppedWorld* world) {
        if (by_traps(mechanism))
            return;
        jumps = {};
        jumps.meanwhile = world == nullptr ? while_it_runs() : Meanwhile();
        jumps_.prepare(space, world, ready, work.fresh, jumps);
        refuse_breakpoints(work, jumps.report, mechanism);
    };
    place(while_it_runs());
    bool planned = !any_window_over(work);
    if (planned)
        plan(nullptr);
    stopped.emplace(tracees_, space);
    if (tracees_.threads_in(*space).empty())
        return Error{Code::gone, "plant probes: the process has ended"};
    if (has_execed(pid, tracees_.threads_in(*space)))
        return another;
    if (space->given_up)
        return late; // the main loop removes what was prepared
    // A library that was away for a moment is where it was.
    if (text_mappings(space->speaker()) != text || work.unreadable) {
        if (!linker.empty()) // nothing stands there yet to notice it
            client_wait_.report_libraries_changed(space->owner());
        forget_plan(work, linker);
        forget_unmapped(*space);
        place({});
        planned = false;
    }
    if (!planned)
        plan(&*stopped);
    if (!by_traps(mechanism)) {
        jumps_.write(*stopped, work.fresh, jumps);
        refuse_breakpoints(work, jumps.report, mechanism);
    }
    for (TargetAddr at : work.grown) {
        if (const Tracepoint* tp = space->find(at))
            jumps_.update(*space, *tp);
    }
    auto breakpoints = breakpoints_of(work, jumps.report, mechanism);
    // Only a breakpoint can do harm to what the program wants of SIGTRAP.
    bool unprotected = false;
    if (!work.fresh.empty() && mechanism != Mechanism::uprobe) {
        unprotected = !trap_signals_.ensure_rescue(*stopped);
        trap_signals_.watch_sigaction(*stopped);
    }
    if (space->given_up)
        return late;
    if (unprotected)
        breakpoints.clear();
    for (Tracepoint* odd :
         unprotected ? work.fresh : space->write_breakpoints(work.fresh)) {
        for (std::uint32_t index : work.sites_of(*odd))
            work.refused.emplace_back(
                index, unprotected ? "no thread of it can make a system call now"
                                   : "the text cannot be written");
        space->forget(*odd);
    }
    space->statics.settle(*space);
    stopped.reset(); // what is left, and the freeing of it all, need no stop
    table_.reclaim();

    if (!jumps.report.note.empty())
        work.notes.push_back(jumps.report.note);
    if (const std::size_t n = space->rescue.take_unprotected(); n != 0)
        work.notes.push_back(std::to_string(n) +
                             " breakpoints would end the process if ptrace-agent were "
                             "killed: the handler "
                             "that restores the text has no room for them");
    for (std::string& note : work.notes)
        client_.report_error(space->owner(), std::move(note));
    std::sort(work.refused.begin(), work.refused.end());
    Writer out;
    out.put(static_cast<std::uint32_t>(sites.size() - work.refused.size() -
                                       work.gone.size()));
    out.put(static_cast<std::uint32_t>(space->n_tracepoints()));
    for (const auto* list : {&work.refused, &breakpoints}) {
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
    put(fired_by_loops(work, sites));
    return Body(out.body());
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
