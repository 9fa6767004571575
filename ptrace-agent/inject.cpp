// SPDX-License-Identifier: MIT
// A system call made by a stopped thread of the target, for us.
//
// The thread is put on a `syscall` instruction that its memory already has (the vDSO's),
// stepped over it, and gets back its registers, its signal mask and the stop that it was
// in. No memory of the target is written. A target under a seccomp filter would be
// killed for a call that the filter forbids, so the filter is suspended meanwhile, which
// only a privileged tracer may; otherwise injection is refused.
#include "ptrace-agent/agent.hpp"

#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/tracing.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::size_t slot_page_bytes = 16384;

static std::optional<TargetAddr> find_syscall_in(const AddressSpace& space,
                                                 const Mapping& mapping)
{
    constexpr std::size_t chunk = 65536;
    std::vector<std::byte> text(chunk);
    std::uint64_t bytes = std::min<std::uint64_t>(mapping.end - mapping.start, 8 << 20);
    // Chunks overlap by a byte: the instruction has two.
    for (std::uint64_t at = 0; at + 2 <= bytes; at += chunk - 1) {
        std::span part(text.data(), std::min<std::uint64_t>(chunk, bytes - at));
        if (!space.read_original(mapping.start + at, part))
            return std::nullopt;
        for (std::size_t i = 0; i + 1 < part.size(); ++i) {
            if (part[i] == std::byte{0x0f} && part[i + 1] == std::byte{0x05})
                return mapping.start + (at + i);
        }
    }
    return std::nullopt;
}

Result<Ok> Agent::find_syscall_insn(AddressSpace& space, Thread&)
{
    if (space.syscall_insn.value != 0)
        return Ok{};
    std::vector<Mapping> all = mappings_of(space.owner());
    std::stable_partition(all.begin(), all.end(),
                          [](const Mapping& m) { return m.path == "[vdso]"; });
    for (const Mapping& mapping : all) {
        if (!mapping.execute || !mapping.read || mapping.path == "[vsyscall]")
            continue;
        if (auto found = find_syscall_in(space, mapping)) {
            // One that a probe replaced cannot be used while it is.
            if (space.find(*found) != nullptr)
                continue;
            space.syscall_insn = *found;
            return Ok{};
        }
    }
    return Error{Code::unsupported, "no syscall instruction is mapped in it"};
}

// Suspends the thread's seccomp filter, where there is one. "": calls can be made.
std::string Agent::injection_refusal(Thread& thread)
{
    std::string status = read_proc_file(
        thread.process->pid, "task/" + std::to_string(thread.tid) + "/status");
    if (status_number(status, "Seccomp") == 0)
        return {};
    if (ptrace(PTRACE_SETOPTIONS, thread.tid, nullptr,
               seize_options | PTRACE_O_SUSPEND_SECCOMP) == 0)
        return {};
    return "it runs under seccomp, and only root may suspend its filter";
}

Result<std::uint64_t> Agent::inject(Thread& thread, long number,
                                    std::array<std::uint64_t, 6> args)
{
    AddressSpace& space = *thread.process->space;
    pid_t tid = thread.tid;
    if (auto found = find_syscall_insn(space, thread); !found)
        return found.error();
    if (std::string why = injection_refusal(thread); !why.empty())
        return Error{Code::permission, why};

    user_regs_struct before;
    siginfo_t info{};
    std::uint64_t mask = 0;
    bool signal_stop = thread.event() == 0;
    bool group_stop = thread.event() == PTRACE_EVENT_STOP && thread.signal() != SIGTRAP;
    if (!get_regs(tid, before) || !get_mask(tid, mask) ||
        (signal_stop && !get_siginfo(tid, info)))
        return Error{Code::gone, "it ended"};
    user_regs_struct call = before;
    call.rip = space.syscall_insn.value;
    call.rax = static_cast<std::uint64_t>(number);
    call.orig_rax = ~0ull; // nothing to restart
    call.rdi = args[0];
    call.rsi = args[1];
    call.rdx = args[2];
    call.r10 = args[3];
    call.r8 = args[4];
    call.r9 = args[5];
    call.eflags &= ~0x100ull;
    set_mask(tid, asynchronous_signals);
    set_regs(tid, call);

    bool stop_again = false; // a SIGSTOP came; it cannot be blocked
    bool done = false;
    Result<std::uint64_t> result = Error{Code::gone, "it ended"};
    // A stale interrupt may stop it before it takes the step: a few rounds.
    for (int round = 0; round < 64 && !done; ++round) {
        int status = 0;
        if (!resume_thread(PTRACE_SINGLESTEP, tid, 0) || !wait_for_stop(tid, status)) {
            drop_thread(thread, status);
            return result;
        }
        if (status >> 16 != 0)
            continue;
        if (WSTOPSIG(status) == SIGSTOP) {
            stop_again = true;
            continue;
        }
        user_regs_struct after;
        done = true;
        if (!get_regs(tid, after))
            break;
        if (WSTOPSIG(status) == SIGTRAP && after.rip == call.rip + 2)
            result = static_cast<std::uint64_t>(after.rax);
        else
            result = Error{Code::permission, "it may not make the system call"};
    }
    set_regs(tid, before);
    set_mask(tid, mask);
    ptrace(PTRACE_SETOPTIONS, tid, nullptr, seize_options);
    if (signal_stop)
        set_siginfo(tid, info); // the stop is a signal's again
    if (stop_again)
        syscall(SYS_tgkill, thread.process->pid, tid, SIGSTOP);
    if (group_stop) {
        // Back into the group's stop, which the step left.
        int status = 0;
        ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
        if (resume_thread(PTRACE_CONT, tid, 0) && wait_for_stop(tid, status))
            thread.status = status;
    }
    return result;
}

bool Agent::ensure_slots(Thread& thread)
{
    AddressSpace& space = *thread.process->space;
    if (space.has_free_slot(thread.tid))
        return true;
    if (!space.no_injection.empty())
        return false;
    // Readable and executable, never writable: /proc/PID/mem writes it, and a program
    // that denies itself writable code (PR_SET_MDWE) accepts it.
    auto page = inject(thread, SYS_mmap,
                       {0, slot_page_bytes, PROT_READ | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, ~0ull, 0});
    if (!page) {
        if (page.error().code != Code::gone)
            space.no_injection = page.error().text;
        return false;
    }
    if (*page > ~4095ull) {
        space.no_injection = "it may not map executable memory";
        return false;
    }
    space.add_slot_page({*page}, slot_page_bytes);
    return true;
}

} // namespace dt::agent
