// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/probe_context.hpp"

#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/inject/our_code.hpp"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <x86intrin.h>

namespace dt::agent {

bool may_run_alone(const AddressSpace& space, TargetAddr pc)
{
    const RuntimeMap& runtime = space.runtime;
    if (space.slots.contain(pc))
        return false;
    if (!runtime.in_image(pc) || runtime.in_code(pc))
        return true;
    const dt_rt_header& header = runtime_header();
    const std::uint64_t offset = pc - runtime.image;
    return (offset >= header.enter && offset < header.build) ||
           std::ranges::any_of(header.leaves,
                               [offset](const dt_rt_header::dt_rt_leave& in) {
                                   return offset >= in.begin && offset < in.end;
                               });
}

bool in_our_code(const AddressSpace& space, TargetAddr pc)
{
    return space.runtime.in_image(pc) || space.patches.in_areas(pc);
}

bool is_synchronous(const siginfo_t& info)
{
    switch (info.si_signo) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
    case SIGSYS:
        return info.si_code > 0;
    default:
        return false;
    }
}

bool is_breakpoint(const siginfo_t& info)
{
    return info.si_signo == SIGTRAP && info.si_code == SI_KERNEL;
}

TargetAddr trapped_at(const siginfo_t& info, const user_regs_struct& user)
{
    return {is_breakpoint(info) ? user.rip - 1 : user.rip};
}

std::optional<TargetAddr> frame_of(const AddressSpace& space,
                                   const user_regs_struct& user)
{
    if (space.runtime.image.value == 0)
        return std::nullopt;
    const dt_rt_session* session = space.runtime.session_at({user.rsp});
    if (session == nullptr)
        return std::nullopt;
    const std::uint64_t offset = user.rsp - session->stacks;
    std::uint64_t pc = user.rip - space.runtime.image.value;
    const dt_rt_header& header = runtime_header();
    if ((pc >= header.enter && pc < header.frame_begin) ||
        (pc >= header.leave_begin && pc < header.leave_end))
        return std::nullopt; // the frame is incomplete or no longer used
    std::uint64_t stack = user.rsp - offset % DT_RT_STACK_BYTES;
    return TargetAddr{DT_RT_FRAME_AT(stack)};
}

bool may_use_session(const AddressSpace& space, const user_regs_struct& user,
                     unsigned session)
{
    const TargetAddr pc{user.rip};
    if (const dt_rt_session* on = space.runtime.session_at({user.rsp}))
        return on == &space.runtime.config().sessions[session];
    if (auto compiled = space.native.session_at(space.runtime, pc))
        return *compiled == session;
    // On the program's stack, the entry and the exit of the runtime may already have
    // read a site of the session.
    return space.runtime.in_image(pc);
}

TargetAddr program_pc(AddressSpace& space, const user_regs_struct& user)
{
    TargetAddr pc{user.rip};
    if (space.runtime.in_image(pc)) {
        dt_rt_frame frame{};
        auto at = frame_of(space, user);
        if (at && space.read_value(*at, frame) && frame.site < DT_RT_MAX_SITES)
            return {space.runtime.config().sites[frame.site].at};
        if (space.runtime.in_links(pc))
            return {space.runtime.config().sites[space.runtime.linked_site(pc)].at};
        // Compiled code keeps the address of its struct dt_rt_site in %rbx.
        std::uint64_t site = user.rbx - space.runtime.image.value - DT_RT_CONFIG -
                             offsetof(dt_rt_config, sites);
        if (space.runtime.in_code(pc) && site / sizeof(dt_rt_site) < DT_RT_MAX_SITES)
            return {space.runtime.config().sites[site / sizeof(dt_rt_site)].at};
        return pc;
    }
    if (auto found = space.patches.find(pc))
        return found->planted->patch.moved[found->place.index].from;
    return pc;
}

bool ProbeContext::show_as_program(Thread& thread, siginfo_t& info,
                                   user_regs_struct& user)
{
    AddressSpace& space = *thread.process->space;
    auto found = space.patches.find({user.rip});
    if (!found)
        return false;
    const Moved& moved = found->planted->patch.moved[found->place.index];
    if (reinterpret_cast<std::uint64_t>(info.si_addr) == user.rip &&
        info.si_signo != SIGSEGV && info.si_signo != SIGBUS) {
        info.si_addr = reinterpret_cast<void*>(moved.from.value);
        set_siginfo(thread.tid, info);
    }
    return put_on_program(space, found->place, user) && set_regs(thread.tid, user);
}

bool put_on_program(AddressSpace& space, const PatchPlace& place,
                    user_regs_struct& user)
{
    std::uint64_t rbx = 0;
    if (place.rbx_on_stack && !space.read_value(TargetAddr{user.rsp}, rbx))
        return false;
    if (place.rbx_on_stack)
        user.rbx = rbx;
    user.rsp += place.rsp_add;
    user.rip = place.on.value;
    return true;
}

// Emulates rdtsc for a thread that is not allowed to execute it (strict seccomp,
// PR_SET_TSC). Returns false at any other instruction.
static bool emulate_rdtsc(const AddressSpace& space, user_regs_struct& user)
{
    constexpr std::array rdtsc{std::byte{0x0f}, std::byte{0x31}};
    std::array<std::byte, 2> text{};
    if (!space.read_text({user.rip}, text) || text != rdtsc)
        return false;
    std::uint64_t counter = __rdtsc();
    user.rax = counter & 0xffffffff;
    user.rdx = counter >> 32;
    user.rip += rdtsc.size();
    return true;
}

bool ProbeContext::serve_runtime(Thread& thread, const siginfo_t& info,
                                 user_regs_struct& user)
{
    AddressSpace& space = *thread.process->space;
    const dt_rt_header& header = runtime_header();
    std::uint64_t offset = user.rip - space.runtime.image.value;
    if (!space.runtime.in_image({user.rip}))
        return false;
    bool fault = info.si_signo == SIGSEGV || info.si_signo == SIGBUS;
    if (fault && offset >= header.load_begin && offset < header.load_end) {
        user.rip = space.runtime.image.value + header.load_fixup;
        user.rdx = reinterpret_cast<std::uint64_t>(info.si_addr);
        return set_regs(thread.tid, user);
    }
    if (info.si_signo == SIGSEGV && info.si_code == SI_KERNEL &&
        emulate_rdtsc(space, user))
        return set_regs(thread.tid, user);
    if (fault) {
        auto on = space.native.after_fault({user.rip});
        user.rip = on ? on->value : user.rip;
        return on && set_regs(thread.tid, user);
    }
    if (is_breakpoint(info) && offset - 1 == header.upcall_trap) {
        trap_signals_.repair_after_trap(thread);
        upcalls_.serve_call(thread, {user.rdi});
        return true;
    }
    return false;
}

Planted* window_around(const AddressSpace& space, TargetAddr pc)
{
    Planted* planted = space.patches.covering(pc);
    return planted != nullptr && planted->patch.at != pc && stands(space, *planted)
               ? planted
               : nullptr;
}

bool is_inside_window(const AddressSpace& space, TargetAddr pc)
{
    return window_around(space, pc) != nullptr;
}

bool ProbeContext::move_into_copy(Thread& thread, const siginfo_t& info,
                                  user_regs_struct& user)
{
    AddressSpace& space = *thread.process->space;
    TargetAddr pc = trapped_at(info, user);
    Planted* planted = window_around(space, pc);
    if (planted == nullptr)
        return false;
    auto place = place_of(planted->patch, pc);
    if (!place || place->kind != PatchPlace::window)
        return false;
    if (is_breakpoint(info))
        trap_signals_.repair_after_trap(thread);
    user.rip = planted->patch.moved[place->index].head.value;
    return set_regs(thread.tid, user);
}

} // namespace dt::agent
