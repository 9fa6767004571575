// SPDX-License-Identifier: MIT
// A thread that stops in our code: in a trampoline, in the runtime, or inside a jump.
//
// The program never sees such a pc. What a stop there means:
//
//   a fault of a safe load           a fault of D: on at the load's fix-up
//   the runtime's upcall             answered, and on
//   a trap inside a window           a stray jump into it: on in the moved copy
//   a fault of a moved instruction   delivered, at the address where the program has it
//   any other signal                 kept back until the thread has left our code
//
// To leave, a thread in the runtime is let run to the runtime's end, where its frame
// says that it shall trap, and is stepped over what was moved.
#include "ptrace-agent/agent.hpp"

#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/runtime/image.hpp"
#include "ptrace-agent/tracing.hpp"

#include <cstddef>

namespace dt::agent {

constexpr int max_steps = 4096;
constexpr std::uint64_t red_zone = 128;

bool in_our_code(const AddressSpace& space, TargetAddr pc)
{
    return space.runtime.in_image(pc) || space.patches.in_areas(pc);
}

static bool is_synchronous(const siginfo_t& info)
{
    switch (info.si_signo) {
    case SIGSEGV:
    case SIGBUS:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
        return info.si_code > 0; // raised by the kernel for an instruction
    default:
        return false;
    }
}

// The struct dt_rt_frame of a thread that is in the runtime, on a shard's stack.
static std::optional<TargetAddr> frame_of(AddressSpace& space,
                                          const user_regs_struct& user)
{
    const dt_rt_config& config = space.runtime.config();
    std::uint64_t offset = user.rsp - config.stacks;
    if (offset >= config.n_shards * DT_RT_STACK_BYTES)
        return std::nullopt;
    std::uint64_t pc = user.rip - space.runtime.image.value;
    const dt_rt_header& header = runtime_header();
    if ((pc >= header.enter && pc < header.frame_begin) ||
        (pc >= header.leave_begin && pc < header.leave_end))
        return std::nullopt; // not there yet, or read already
    std::uint64_t stack = user.rsp - offset % DT_RT_STACK_BYTES;
    return TargetAddr{DT_RT_FRAME_AT(stack)};
}

// The program's own pc, for samples and for those who look at a stopped thread.
TargetAddr Agent::program_pc(AddressSpace& space, const user_regs_struct& user)
{
    TargetAddr pc{user.rip};
    if (space.runtime.in_image(pc)) {
        dt_rt_frame frame{};
        auto at = frame_of(space, user);
        if (at && space.read_value(*at, frame) && frame.site < DT_RT_MAX_SITES)
            return {space.runtime.config().sites[frame.site].at};
        return pc;
    }
    if (auto found = space.patches.find(pc))
        return found->planted->patch.moved[found->place.index].from;
    return pc;
}

static bool put_on_program(AddressSpace& space, const PatchPlace& place,
                           user_regs_struct& user);

// One go of a thread that wants out of our code; false: it ended.
bool Agent::go_towards_exit(Thread& thread, user_regs_struct& user)
{
    AddressSpace& space = *thread.process->space;
    int request = PTRACE_SINGLESTEP;
    if (space.runtime.in_image({user.rip})) {
        if (auto frame = frame_of(space, user)) {
            std::uint64_t trap = space.runtime.image.value + runtime_header().exit_trap;
            TargetAddr back = *frame + offsetof(dt_rt_frame, back);
            if (space.write(back, std::as_bytes(std::span(&trap, 1))))
                request = PTRACE_CONT;
        }
    }
    int status = 0;
    if (!resume_thread(request, thread.tid, 0) || !wait_for_stop(thread.tid, status)) {
        drop_thread(thread, status);
        return false;
    }
    thread.status = status;
    return true;
}

// At the runtime's end: the tail's work is done here, and the thread is at the moved
// instruction.
bool Agent::leave_runtime(Thread& thread, user_regs_struct& user)
{
    AddressSpace& space = *thread.process->space;
    std::uint64_t rbx = 0;
    if (!space.read_value(TargetAddr{user.rsp}, rbx))
        return false;
    auto number = thread.leaving_site;
    TargetAddr tail{space.runtime.config().sites[number].back};
    auto found = space.patches.find(tail);
    if (!found)
        return false;
    user.rbx = rbx;
    user.rsp += sizeof rbx + red_zone;
    user.rip = found->planted->patch.moved[found->place.index].to.value;
    return set_regs(thread.tid, user);
}

// Until its pc is the program's again, all asynchronous signals blocked. false: it
// ended. A fault of a moved instruction stays as the thread's stop, already told as the program's.
bool Agent::run_out(Thread& thread, Leave leave)
{
    AddressSpace& space = *thread.process->space;
    pid_t tid = thread.tid;
    std::uint64_t mask = 0;
    bool masked = get_mask(tid, mask) && set_mask(tid, mask | asynchronous_signals);
    std::uint64_t exit_trap = space.runtime.image.value + runtime_header().exit_trap;
    for (int i = 0; i < max_steps; ++i) {
        user_regs_struct user;
        if (!get_regs(tid, user))
            return false;
        if (user.rip - 1 == exit_trap && !leave_runtime(thread, user))
            break;
        if (!in_our_code(space, {user.rip}))
            break;
        auto found = space.patches.find({user.rip});
        if (found && leave == Leave::for_good &&
            put_on_program(space, found->place, user)) {
            set_regs(tid, user);
            break;
        }
        if (auto frame = frame_of(space, user)) {
            dt_rt_frame inside{};
            if (space.read_value(*frame, inside) && inside.site < DT_RT_MAX_SITES)
                thread.leaving_site = static_cast<std::uint32_t>(inside.site);
        }
        if (!go_towards_exit(thread, user))
            return false;
        siginfo_t info;
        if (thread.event() == 0 && get_siginfo(tid, info) && is_synchronous(info) &&
            get_regs(tid, user)) {
            if (serve_runtime(thread, info, user))
                continue;
            if (info.si_signo != SIGTRAP && show_as_program(thread, info, user))
                break;
        }
    }
    if (masked)
        set_mask(tid, mask);
    return true;
}

// A fault in a moved instruction, told with the addresses that the program knows.
bool Agent::show_as_program(Thread& thread, siginfo_t& info, user_regs_struct& user)
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

// Out of the trampoline at once: where the program's text goes on from this place.
static bool put_on_program(AddressSpace& space, const PatchPlace& place,
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

// What the runtime asks for; true: the thread may go on as it stands now.
bool Agent::serve_runtime(Thread& thread, const siginfo_t& info, user_regs_struct& user)
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
    if (info.si_signo == SIGTRAP && info.si_code == SI_KERNEL &&
        offset - 1 == header.upcall_trap) {
        repair_after_trap(thread);
        answer_upcall(thread, {user.rdi});
        return true;
    }
    return false;
}

void Agent::answer_upcall(Thread& thread, TargetAddr at)
{
    AddressSpace& space = *thread.process->space;
    dt_rt_upcall call{};
    dt_rt_frame frame{};
    if (!space.read_value(at, call) || !space.read_value(TargetAddr{call.frame}, frame))
        return;
    call.result = -1;
    if (frame.site < DT_RT_MAX_SITES) {
        Registers regs = registers_of(frame, space.runtime.config());
        user_regs_struct user;
        if (get_regs(thread.tid, user)) {
            regs.fs_base = user.fs_base;
            regs.gs_base = user.gs_base;
        }
        FiringHost host(arena_, thread, regs);
        host.answer(call);
    }
    space.write(at, std::as_bytes(std::span(&call, 1)));
    if (call.op == DT_RT_UP_LIBRARIES && handle_library_change(thread))
        thread.held = true; // until the client has looked at the libraries
}

Registers registers_of(const dt_rt_frame& frame, const dt_rt_config& config)
{
    Registers regs;
    regs[Reg::rax] = frame.rax;
    regs[Reg::rcx] = frame.rcx;
    regs[Reg::rdx] = frame.rdx;
    regs[Reg::rbx] = frame.rbx;
    regs[Reg::rsp] = frame.rsp;
    regs[Reg::rbp] = frame.rbp;
    regs[Reg::rsi] = frame.rsi;
    regs[Reg::rdi] = frame.rdi;
    regs[Reg::r8] = frame.r8;
    regs[Reg::r9] = frame.r9;
    regs[Reg::r10] = frame.r10;
    regs[Reg::r11] = frame.r11;
    regs[Reg::r12] = frame.r12;
    regs[Reg::r13] = frame.r13;
    regs[Reg::r14] = frame.r14;
    regs[Reg::r15] = frame.r15;
    regs.rflags = frame.rflags;
    regs.rip = config.sites[frame.site].at;
    return regs;
}

// A jump into the middle of a window met a byte that traps.
bool Agent::into_copy(Thread& thread, const siginfo_t& info, user_regs_struct& user)
{
    AddressSpace& space = *thread.process->space;
    bool breakpoint = info.si_signo == SIGTRAP && info.si_code == SI_KERNEL;
    TargetAddr pc{breakpoint ? user.rip - 1 : user.rip};
    Planted* planted = space.patches.covering(pc);
    if (planted == nullptr || planted->patch.at == pc)
        return false;
    auto place = place_of(planted->patch, pc);
    if (!place || place->kind != PatchPlace::window)
        return false;
    if (breakpoint)
        repair_after_trap(thread);
    user.rip = planted->patch.moved[place->index].head.value;
    return set_regs(thread.tid, user);
}

bool Agent::handle_in_our_code(Thread& thread, int signal)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    siginfo_t info;
    user_regs_struct user;
    if (space->runtime.image.value == 0 || !get_siginfo(thread.tid, info) ||
        !get_regs(thread.tid, user))
        return false;
    if (is_synchronous(info) && into_copy(thread, info, user)) {
        go_on(thread);
        return true;
    }
    if (!in_our_code(*space, {user.rip}))
        return false;
    if (is_synchronous(info)) {
        if (serve_runtime(thread, info, user)) {
            go_on(thread);
            return true;
        }
        show_as_program(thread, info, user);
        go_on(thread, signal);
        return true;
    }
    pid_t tid = thread.tid;
    if (!run_out(thread, Leave::for_now))
        return true; // it ended
    siginfo_t now;
    bool faulted = thread.event() == 0 && get_siginfo(tid, now) &&
                   is_synchronous(now) && now.si_signo != SIGTRAP;
    if (faulted) {
        // Both are its own: the fault first, the kept one is sent once more.
        syscall(SYS_tgkill, thread.process->pid, tid, signal);
        go_on(thread, now.si_signo);
        return true;
    }
    set_siginfo(tid, info);
    go_on(thread, signal);
    return true;
}

} // namespace dt::agent
