// SPDX-License-Identifier: MIT
// JumpWriter: changes and removes the probes of tracepoints that have jumps.
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"

#include <algorithm>
#include <array>

namespace dt::agent {

static std::uint32_t kind_of(const Firing& firing)
{
    switch (firing.kind) {
    case SiteKind::ret:
        return DT_RT_RETURN;
    case SiteKind::entry:
        return DT_RT_ENTRY;
    case SiteKind::static_probe:
        return DT_RT_STATIC;
    case SiteKind::jump_out:
        return DT_RT_JUMP_OUT;
    case SiteKind::system_call:
        return DT_RT_SYSCALL;
    case SiteKind::system_return:
        return DT_RT_SYSCALL_RETURN;
    case SiteKind::new_text:
        return DT_RT_NEW_TEXT;
    default:
        return DT_RT_OFFSET;
    }
}

// Returns the table of a session's probes at instructions that can make any call.
static std::optional<std::uint32_t> table_of(AddressSpace& space, unsigned session,
                                             const CallProbes& probes, dt_rt_kind kind)
{
    const bool is_entry = kind == DT_RT_ANY_SYSCALL;
    const auto& ids = is_entry ? probes.entry : probes.ret;
    std::vector<dt_rt_firing> firings;
    for (std::uint32_t number = 0; number < ids.size(); number++)
        if (ids[number] != 0)
            firings.push_back(
                {ids[number],
                 static_cast<dt_u32>(is_entry ? DT_RT_SYSCALL : DT_RT_SYSCALL_RETURN),
                 number});
    return space.runtime.call_table(session, kind, firings);
}

// Fills `all` with the firings of a session, in the form that the runtime reads.
static void list_firings(AddressSpace& space, const Tracepoint& tp, unsigned session,
                         const CallProbes* calls, std::vector<dt_rt_firing>& all)
{
    all.clear();
    // While the agent is kept out, it cannot be asked.
    const bool asks =
        space.runtime.session_of(*tp.site) == session && !space.away.is_kept_out;
    if (asks && tp.purpose == Tracepoint::library_change)
        all.push_back({0, DT_RT_LIBRARIES, 0});
    if (asks && tp.purpose == Tracepoint::tracer_call)
        all.push_back({0, DT_RT_TRACER, tp.call_number});
    std::optional<dt_rt_kind> kind_of_any;
    for (const Firing& firing : tp.firings) {
        if (firing.session != session)
            continue;
        if (firing.kind == SiteKind::new_text && !asks)
            continue;
        if (is_any_call(firing)) {
            kind_of_any = firing.kind == SiteKind::system_call
                              ? DT_RT_ANY_SYSCALL
                              : DT_RT_ANY_SYSCALL_RETURN;
            if (dt_rt_task_call_of(firing.arg0) != 0)
                all.push_back({firing.probe, kind_of(firing), firing.arg0});
            continue;
        }
        bool by_entry = has_operands(firing.kind);
        all.push_back({firing.probe, kind_of(firing),
                       by_entry ? space.statics.list_of(firing.arg0) : firing.arg0});
    }
    // The table frees the entry of a call that returns, so it must be last.
    if (kind_of_any && calls != nullptr)
        if (auto table = table_of(space, session, *calls, *kind_of_any))
            all.push_back({0, *kind_of_any, *table});
}

// Returns the site of a session at a tracepoint. Adds one at the end of the chain of
// sites if necessary. Returns nothing if the runtime's table is full.
static std::optional<std::uint32_t> site_for(AddressSpace& space, Tracepoint& tp,
                                             unsigned session)
{
    RuntimeMap& runtime = space.runtime;
    if (runtime.session_of(*tp.site) == session)
        return *tp.site;
    if (!runtime.has_session(session))
        return std::nullopt;
    for (std::uint32_t link : tp.links)
        if (runtime.session_of(link) == session)
            return link;
    const auto site = runtime.add_site(tp.at(), session);
    const auto link = site ? runtime.link_to(space, *site) : std::nullopt;
    if (!link) {
        if (site)
            runtime.free_site(*site);
        return std::nullopt;
    }
    if (tp.insn.flow == ControlFlow::branch)
        runtime.set_condition(*site, DT_RT_CONDITIONAL | tp.insn.condition);
    const std::uint32_t last = tp.links.empty() ? *tp.site : tp.links.back();
    runtime.set_back(*site, {runtime.config().sites[last].back});
    runtime.set_back(last, *link);
    tp.links.push_back(*site);
    return site;
}

bool JumpWriter::update_session(AddressSpace& space, Tracepoint& tp, unsigned session)
{
    const AgentSession* of = tracees_.sessions().find(session);
    list_firings(space, tp, session, of != nullptr ? &of->call_probes : nullptr,
                 firings_);
    const auto site = site_for(space, tp, session);
    if (!site || !space.runtime.set_firings(*site, firings_))
        return false;
    compile_site(of != nullptr ? static_cast<const dt_arena*>(of->arena.base())
                               : nullptr,
                 space, *site, firings_);
    return true;
}

bool JumpWriter::update(AddressSpace& space, Tracepoint& tp)
{
    if (!tp.site)
        return false;
    space.runtime.set_operands(space.statics.all_operands());
    SessionSet sessions = sessions_at(tp);
    // The probes of these sessions may have been removed.
    sessions.set(space.runtime.session_of(*tp.site));
    for (std::uint32_t link : tp.links)
        sessions.set(space.runtime.session_of(link));
    for (unsigned session = 0; session < max_sessions; session++)
        if (sessions.test(session) && !update_session(space, tp, session))
            return false;
    return true;
}

void JumpWriter::update_own(AddressSpace& space)
{
    for (Tracepoint* tp : space.tracepoints.all())
        if (tp->is_own())
            update(space, *tp);
}

void JumpWriter::update_calls(AddressSpace& space)
{
    for (Tracepoint* tp : space.tracepoints.all())
        if (std::ranges::any_of(tp->firings, is_any_call))
            update(space, *tp);
}

void JumpWriter::drop_session(AddressSpace& space, unsigned session)
{
    RuntimeMap& runtime = space.runtime;
    auto back_of = [&](std::uint32_t site) {
        return TargetAddr{runtime.config().sites[site].back};
    };
    for (Tracepoint* tp : space.tracepoints.all()) {
        if (!tp->site)
            continue;
        // The sites of other sessions stay, because a thread that fires one of them knows
        // the next one.
        std::uint32_t before = *tp->site;
        for (auto link = tp->links.begin(); link != tp->links.end();) {
            if (runtime.session_of(*link) != session) {
                before = *link++;
                continue;
            }
            runtime.set_back(before, back_of(*link));
            runtime.retire_site(*link);
            link = tp->links.erase(link);
        }
        if (runtime.session_of(*tp->site) != session)
            continue;
        // The trampoline's site serves the next session instead.
        runtime.set_firings(*tp->site, {});
        if (tp->links.empty()) {
            runtime.move_site(*tp->site, first_session(space, *tp, session));
        } else {
            const std::uint32_t next = tp->links.front();
            runtime.move_site(*tp->site, runtime.session_of(next));
            runtime.set_back(*tp->site, back_of(next));
            runtime.retire_site(next);
            tp->links.erase(tp->links.begin());
        }
        (void)update_session(space, *tp, runtime.session_of(*tp->site));
    }
    space.native.forget_session(session);
    space.runtime.free_call_tables(session);
}

unsigned first_session(const AddressSpace& space, const Tracepoint& tp, unsigned ended)
{
    if (!tp.firings.empty())
        return tp.firings.front().session;
    for (const auto& [session, memory] : space.runtime.sessions())
        if (session != ended && !memory.left)
            return session;
    return ended;
}

static bool is_padding(const Instruction& insn)
{
    bool nop = (insn.opcode_map == 0 && insn.opcode == 0x90) ||
               (insn.opcode_map == 1 && insn.opcode == 0x1f);
    return nop || insn.bytes[0] == std::byte{0xcc};
}

// Returns the tracepoint at the dynamic linker's r_brk if it has a breakpoint.
// Otherwise returns null. r_brk is an empty function, so a jump fits only if padding
// follows it. The extent of the tracepoint then includes this padding.
Tracepoint* JumpWriter::linker_tracepoint(AddressSpace& space)
{
    Tracepoint* tp = space.tracepoints.find(space.watched.linker.stop);
    if (tp == nullptr || tp->purpose != Tracepoint::library_change || !tp->written)
        return nullptr;
    see_padding(space, *tp);
    return tp;
}

void see_padding(const AddressSpace& space, Tracepoint& tp)
{
    std::array<std::byte, 32> text{};
    tp.first = tp.at();
    tp.end = tp.insn.next();
    if (!space.read_original(tp.at(), text))
        return;
    while (tp.end - tp.at() < text.size()) {
        auto insn = x86_64.decode(std::span(text).subspan(tp.end - tp.at()), tp.end);
        bool padding = insn && (is_padding(*insn) || insn->flow == ControlFlow::ret);
        if (!padding || tp.end - tp.at() + insn->length > text.size())
            break;
        tp.end = insn->next();
    }
}

// Returns whether the thread waits for the client (Thread::held) at the linker's site.
// Such a thread needs no other trampoline.
static bool waits_at_linker(AddressSpace& space, const Thread& thread,
                            const user_regs_struct& user)
{
    dt_rt_frame frame{};
    auto at = thread.held ? frame_of(space, user) : std::nullopt;
    return at && space.read_value(*at, frame) && frame.site < DT_RT_MAX_SITES &&
           space.runtime.config().sites[frame.site].at ==
               space.watched.linker.stop.value;
}

// Frees the trampolines of removed jumps, except that of the linker's site. A thread in
// dlopen() waits there until probes have been planted, and then uses the trampoline.
void JumpWriter::reclaim(AddressSpace& space)
{
    if (space.runtime.image.value == 0)
        return;
    bool any_waits = false;
    for (Thread* thread : tracees_.threads_in(space)) {
        user_regs_struct user;
        if (!thread->is_stopped() || !get_regs(thread->tid, user))
            return;
        if (!in_our_code(space, {user.rip}))
            continue;
        if (!waits_at_linker(space, *thread, user))
            return;
        any_waits = true;
    }
    for (std::uint32_t site : space.patches.reclaim(space.watched.linker.stop))
        space.runtime.free_site(site);
    if (!any_waits)
        space.runtime.free_retired();
}

// Removes windows that no longer have a probe. In other windows, a site without probes
// becomes inert.
void JumpWriter::remove(AddressSpace& space, const std::vector<Tracepoint*>& idle)
{
    std::vector<TargetAddr> windows;
    for (Tracepoint* tp : idle) {
        if (Planted* planted = window_over(space, *tp))
            windows.push_back(planted->patch.at);
        if (tp->site)
            space.runtime.set_firings(*tp->site, {});
        for (std::uint32_t link : tp->links)
            space.runtime.set_firings(link, {});
    }
    std::sort(windows.begin(), windows.end());
    windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
    std::vector<TargetAddr> unneeded;
    for (TargetAddr window : windows) {
        const Planted* planted = space.patches.at(window);
        bool serves = std::any_of(planted->probed.begin(), planted->probed.end(),
                                  [&space](const Planted::Probed& probed) {
                                      Tracepoint* tp =
                                          space.tracepoints.find(probed.at);
                                      return tp != nullptr && tp->serves();
                                  });
        if (!serves)
            unneeded.push_back(window);
    }
    space.patches.take_out(space, unneeded);
}

} // namespace dt::agent
