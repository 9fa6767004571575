// SPDX-License-Identifier: MIT
// JumpWriter: plans and builds jumps, and writes them into the text.
#include "ptrace-agent/plant/jump_writer.hpp"

#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/memory_limits.hpp"
#include "ptrace-agent/plant/site_extents.hpp"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <sys/syscall.h>

namespace dt::agent {

// Maps areas in the target. If the target is running, it is stopped for each system
// call.
class MappedRoom : public Room {
public:
    MappedRoom(Tracees& tracees, Injector& injector,
               std::shared_ptr<AddressSpace> space, StoppedWorld* world)
        : tracees_(tracees), injector_(injector), space_(std::move(space)),
          world_(world), locks_(locked_kib(space_->proc_tid()) > 0)
    {
    }

    std::vector<Mapping> mappings() override { return mappings_of(space_->proc_tid()); }
    bool map(TargetAddr at, std::uint64_t bytes, Holds holds) override
    {
        std::optional<StoppedWorld> stopped;
        StoppedWorld& world =
            world_ != nullptr ? *world_ : stopped.emplace(tracees_, space_);
        Thread* thread = world.any_thread();
        if (thread == nullptr)
            return false;
        auto mapped =
            injector_.map_ours(*thread, {Ours::trampolines, at, bytes,
                                         PROT_READ | PROT_EXEC, MAP_NORESERVE, true});
        if (!mapped || *mapped != at.value)
            return false;
        // After mlockall(MCL_FUTURE), the kernel has loaded all pages of the area.
        if (locks_)
            unload(world, {*mapped}, bytes);
        const std::uint64_t enter =
            space_->runtime.image.value + runtime_header().enter;
        if (holds == Holds::stubs ||
            space_->write_text(at, std::as_bytes(std::span(&enter, 1))))
            return true;
        // The thread may have exited during the mmap(2) call.
        if (Thread* other = world.any_thread())
            injector_.unmap_ours(*other, at, bytes);
        return false;
    }

private:
    // Unlocks a new area, and frees its pages.
    void unload(StoppedWorld& world, TargetAddr at, std::uint64_t bytes)
    {
        for (long number : {SYS_munlock, SYS_madvise})
            if (Thread* thread = world.any_thread())
                (void)injector_.call(*thread, number,
                                     {at.value, bytes, MADV_DONTNEED, 0, 0, 0});
    }

    Tracees& tracees_;
    Injector& injector_;
    std::shared_ptr<AddressSpace> space_;
    StoppedWorld* world_;
    const bool locks_; // the target has locked memory
};

Planted* window_over(const AddressSpace& space, const Tracepoint& tp)
{
    static constexpr std::array endbr64{std::byte{0xf3}, std::byte{0x0f},
                                        std::byte{0x1e}, std::byte{0xfa}};
    if (Planted* over = space.patches.covering(tp.at()))
        return over;
    if (tp.insn.flow == ControlFlow::syscall)
        return space.patches.covering(TargetAddr{tp.at().value - 1});
    bool is_endbr64 = std::equal(endbr64.begin(), endbr64.end(), tp.insn.bytes.begin());
    return is_endbr64 ? space.patches.covering(tp.insn.next()) : nullptr;
}

// Removes the windows that cover a new tracepoint, and adds their tracepoints to
// work.wanted, to be planned again. No breakpoint may be inside a window, so `fresh`
// also contains the tracepoints that will get a breakpoint.
static void clear_way(AddressSpace& space, const std::vector<Tracepoint*>& fresh,
                      JumpWork& work)
{
    std::vector<Tracepoint*>& wanted = work.wanted;
    for (std::size_t i = 0; i < wanted.size() + fresh.size(); ++i) {
        Tracepoint* site = i < fresh.size() ? fresh[i] : wanted[i - fresh.size()];
        Planted* over = window_over(space, *site);
        if (over == nullptr)
            continue;
        space.patches.take_out(space, {over->patch.at});
        for (const Planted::Probed& probed : over->probed) {
            Tracepoint* tp = space.tracepoints.find(probed.at);
            if (tp != nullptr && tp->site == probed.site) {
                disconnect(space, *tp);
                wanted.push_back(tp);
                work.displaced.push_back(tp);
            }
        }
    }
}

// Connects a site in the runtime with its tracepoint. The site fires as soon as a jump
// leads to it. Returns false if the runtime's tables are full.
bool JumpWriter::claim(AddressSpace& space, std::uint32_t site, TargetAddr tail,
                       Tracepoint& tp)
{
    tp.site = site;
    space.runtime.set_back(site, tail);
    if (tp.insn.flow == ControlFlow::branch)
        space.runtime.set_condition(site, DT_RT_CONDITIONAL | tp.insn.condition);
    if (update(space, tp))
        return true;
    disconnect(space, tp);
    return false;
}

void disconnect(AddressSpace& space, Tracepoint& tp)
{
    tp.site.reset();
    for (std::uint32_t link : std::exchange(tp.links, {}))
        space.runtime.retire_site(link);
}

SessionSet sessions_at(const Tracepoint& tp)
{
    SessionSet all;
    for (const Firing& firing : tp.firings)
        all.set(firing.session);
    return all;
}

// Returns the tail of the part of the trampoline that serves a site.
static TargetAddr tail_of(const Patch& patch, std::uint32_t site)
{
    for (const Moved& moved : patch.moved)
        if (moved.site == site)
            return moved.tail;
    return {};
}

// Builds the patch of a window. If the runtime's tables are full or an instruction
// cannot be relocated, records the reason for the window's sites and returns null.
std::unique_ptr<Planted> JumpWriter::build(AddressSpace& space, Window& window,
                                           const Taken& taken, JumpWork& work)
{
    RuntimeMap& runtime = space.runtime;
    auto planted = std::make_unique<Planted>();
    std::vector<Tracepoint*>& served = work.served;
    served.clear();
    bool ok = true;
    for (WindowInsn& insn : window.insns) {
        if (!insn.site)
            continue;
        // The tracepoint may be at an endbr64 before this instruction.
        served.push_back(work.wanted[*insn.site]);
        auto number =
            runtime.add_site(served.back()->at(), first_session(space, *served.back()));
        ok = ok && number;
        if (!number)
            continue;
        insn.site = number;
        planted->probed.push_back({*number, served.back()->at()});
    }
    Result<Patch> patch = ok ? build_patch(space, window, taken.place, work.builder)
                             : Error{Code::busy, tables_full};
    const std::string refused = patch ? tables_full : patch.error().text;
    ok = ok && patch;
    for (std::size_t i = 0; ok && i < served.size(); ++i)
        ok = claim(space, planted->probed[i].site,
                   tail_of(*patch, planted->probed[i].site), *served[i]);
    if (ok) {
        planted->patch = std::move(*patch);
        planted->n_room = taken.n_bytes;
        // Free this memory, so that the next window can use it.
        std::vector<WindowInsn>().swap(window.insns);
        return planted;
    }
    for (const Planted::Probed& probed : planted->probed)
        runtime.free_site(probed.site);
    for (Tracepoint* tp : served) {
        disconnect(space, *tp);
        work.report.reasons[tp->at()] = refused;
    }
    space.patches.space().give_back(taken.place, taken.n_bytes);
    return nullptr;
}

void JumpWriter::prepare(const std::shared_ptr<AddressSpace>& target,
                         StoppedWorld* world, const Result<Ok>& ready,
                         const std::vector<Tracepoint*>& fresh, JumpWork& work)
{
    AddressSpace& space = *target;
    JumpReport& report = work.report;
    std::vector<Tracepoint*>& wanted = work.wanted;
    wanted.reserve(fresh.size() + 1);
    std::copy_if(fresh.begin(), fresh.end(), std::back_inserter(wanted),
                 [](Tracepoint* tp) { return can_jump(*tp); });
    // The breakpoint in the dynamic linker also becomes a jump, if possible.
    if (Tracepoint* linker = linker_tracepoint(space))
        wanted.push_back(linker);
    if (wanted.empty())
        return;
    if (!ready) {
        std::string why =
            "the runtime cannot be loaded into the process: " + ready.error().text;
        for (Tracepoint* tp : wanted) {
            report.reasons[tp->at()] = why;
            if (tp->purpose == Tracepoint::fires)
                report.note = why;
        }
        return;
    }
    if (world != nullptr)
        clear_way(space, fresh, work);
    auto before = [](Tracepoint* a, Tracepoint* b) { return a->at() < b->at(); };
    if (!std::is_sorted(wanted.begin(), wanted.end(), before))
        std::sort(wanted.begin(), wanted.end(), before);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());

    MappedRoom room(tracees_, injector_, target, world);
    auto plan =
        std::make_shared<JumpPlan>(plan_jumps(space, room, wanted, work.periodic));
    report.spent = plan;
    report.reasons = std::move(plan->refused);
    std::vector<std::unique_ptr<Planted>> all;
    all.reserve(plan->windows.size());
    for (std::size_t i = 0; i < plan->windows.size(); ++i) {
        work.periodic();
        if (plan->taken[i].n_bytes == 0)
            continue;
        if (auto planted = build(space, plan->windows[i], plan->taken[i], work))
            all.push_back(std::move(planted));
    }
    unclaim(space, space.patches.prepare(space, std::move(all)), report);
}

// Disconnects the sites of patches that could not be written, and records the reason.
void JumpWriter::unclaim(AddressSpace& space, const std::vector<Planted*>& unwritten,
                         JumpReport& report)
{
    for (const Planted* planted : unwritten) {
        for (const Planted::Probed& probed : planted->probed) {
            Tracepoint* tp = space.tracepoints.find(probed.at);
            if (tp == nullptr || tp->site != probed.site)
                continue;
            disconnect(space, *tp);
            report.reasons[tp->at()] =
                "the instructions have changed or cannot be overwritten";
        }
    }
}

void JumpWriter::write(StoppedWorld& world, std::vector<Tracepoint*>& fresh,
                       JumpWork& work)
{
    AddressSpace& space = world.space();
    Tracepoint* linker = linker_tracepoint(space);
    if (linker != nullptr && linker->site) {
        space.tracepoints.restore_originals({linker});
        fresh.push_back(linker);
    }
    unclaim(space,
            space.patches.write(space,
                                [&](std::span<Planted* const> windows) {
                                    move_into_copies(space, windows);
                                }),
            work.report);
    // The tracepoints without a jump remain in `fresh` and get breakpoints.
    std::erase_if(fresh, [](const Tracepoint* tp) { return tp->site.has_value(); });
    std::copy_if(work.displaced.begin(), work.displaced.end(),
                 std::back_inserter(fresh),
                 [](const Tracepoint* tp) { return !tp->site; });
}

JumpReport JumpWriter::plant(StoppedWorld& world,
                             const std::shared_ptr<AddressSpace>& space,
                             std::vector<Tracepoint*>& fresh)
{
    JumpWork work;
    SessionSet sessions;
    for (const Tracepoint* tp : fresh)
        sessions |= sessions_at(*tp);
    reclaim(*space);
    prepare(space, &world, loader_.ensure(world, sessions), fresh, work);
    write(world, fresh, work);
    return std::move(work.report);
}

// Moves each thread that is in the middle of a window to the copy of its next
// instruction.
void JumpWriter::move_into_copies(AddressSpace& space,
                                  std::span<Planted* const> windows)
{
    for (Thread* thread : tracees_.threads_in(space)) {
        user_regs_struct user;
        if (!thread->is_stopped() || !get_regs(thread->tid, user))
            continue;
        auto after = std::upper_bound(
            windows.begin(), windows.end(), user.rip,
            [](std::uint64_t pc, Planted* p) { return pc < p->patch.at.value; });
        if (after == windows.begin() || (*std::prev(after))->patch.at.value == user.rip)
            continue;
        Planted* planted = *std::prev(after);
        auto place = place_of(planted->patch, {user.rip});
        if (!place || place->kind != PatchPlace::window)
            continue;
        user.rip = planted->patch.moved[place->index].head.value;
        set_regs(thread->tid, user);
    }
}

} // namespace dt::agent
