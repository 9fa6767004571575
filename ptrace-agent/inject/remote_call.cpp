// SPDX-License-Identifier: MIT
#include "ptrace-agent/inject/injector.hpp"

#include "base/page_bytes.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/hold/waits.hpp"
#include "ptrace-agent/inject/call_stub.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::size_t slot_page_bytes = 16384;
// The agent abandons a call after this many stops that do not belong to the call.
constexpr int max_other_stops = 64;

// Searches the first 8 MiB of a mapping for a `syscall` instruction.
static std::optional<TargetAddr> find_syscall_in(const AddressSpace& space,
                                                 const Mapping& mapping)
{
    constexpr std::size_t chunk = 65536;
    std::vector<std::byte> text(chunk);
    std::uint64_t bytes = std::min<std::uint64_t>(mapping.end - mapping.begin, 8 << 20);
    // The instruction has two bytes, so chunks overlap by one byte.
    for (std::uint64_t at = 0; at + 2 <= bytes; at += chunk - 1) {
        std::span part(text.data(), std::min<std::uint64_t>(chunk, bytes - at));
        if (!space.read_original(mapping.begin + at, part))
            return std::nullopt;
        for (std::size_t i = 0; i + 1 < part.size(); ++i) {
            if (part[i] == std::byte{0x0f} && part[i + 1] == std::byte{0x05})
                return mapping.begin + (at + i);
        }
    }
    return std::nullopt;
}

// Returns whether a mapping of a file ends in enough zeros for the stub.
static bool has_slack(const AddressSpace& space, const Mapping& mapping)
{
    std::vector<std::byte> text(page_bytes);
    if (mapping.end - mapping.begin < page_bytes || mapping.path.empty() ||
        mapping.path[0] != '/' || mapping.shared ||
        !space.read_text(mapping.end - page_bytes, text))
        return false;
    std::size_t n_zeros = 0;
    while (n_zeros < page_bytes && text[page_bytes - 1 - n_zeros] == std::byte{0})
        ++n_zeros;
    constexpr std::size_t margin = 64; // the first zeros may belong to an instruction
    return n_zeros >= call_stub().size() + 16 + margin && n_zeros != page_bytes;
}

// Returns the address in a mapping at which the agent places a stub.
static TargetAddr stub_place(const Mapping& mapping)
{
    return {(mapping.end.value - call_stub().size() - 16) & ~15ull};
}

static bool may_hold_stub(const Mapping& mapping)
{
    return mapping.executable && mapping.readable && !mapping.writable &&
           mapping.end - mapping.begin >= page_bytes && !call_stub().empty();
}

// Returns whether the place for a stub in the mapping contains one.
static bool has_stub(const AddressSpace& space, const Mapping& mapping)
{
    const TargetAddr at = stub_place(mapping);
    std::vector<std::byte> text(block_of(at) - at);
    return space.read_text(at, text) &&
           std::equal(text.begin(), text.end(), call_stub().begin());
}

std::vector<TargetAddr> Injector::left_stubs(const AddressSpace& space,
                                             const std::vector<Mapping>& mappings) const
{
    std::vector<TargetAddr> stubs;
    for (const Mapping& mapping : mappings)
        if (may_hold_stub(mapping) && mapping.is_file() && has_stub(space, mapping) &&
            stub_place(mapping) != space.call_place.stub())
            stubs.push_back(stub_place(mapping));
    return stubs;
}

// Returns whether the mapping contains a stub that can be reused: a killed agent has
// left the stub, and no thread is in it. A second stub cannot be written, because a
// mapping has only one place for a stub.
static bool is_left_stub(const AddressSpace& space, const Mapping& mapping,
                         const std::vector<Thread*>& threads)
{
    const TargetAddr at = stub_place(mapping);
    return has_stub(space, mapping) &&
           std::all_of(threads.begin(), threads.end(), [&](const Thread* thread) {
               user_regs_struct user;
               return thread->is_stopped() && get_regs(thread->tid, user) &&
                      TargetAddr{user.rip} - at >= call_stub().size();
           });
}

// Reuses a stub that a killed agent has left, or writes a new one. Returns false if no
// mapping has space.
static bool place_stub(AddressSpace& space, const std::vector<Mapping>& all,
                       const std::vector<Thread*>& threads)
{
    std::span<const std::byte> stub = call_stub();
    for (const Mapping& mapping : all)
        if (may_hold_stub(mapping) && is_left_stub(space, mapping, threads)) {
            space.call_place.use_stub(stub_place(mapping));
            return true;
        }
    for (const Mapping& mapping : all) {
        if (!may_hold_stub(mapping) || !has_slack(space, mapping))
            continue;
        if (!space.write_text(stub_place(mapping), stub))
            continue;
        space.call_place.use_stub(stub_place(mapping));
        return true;
    }
    return false;
}

Result<Ok> Injector::find_syscall_insn(AddressSpace& space)
{
    if (space.call_place.known())
        return Ok{};
    std::vector<Mapping> all = mappings_of(space.proc_tid());
    if (place_stub(space, all, tracees_.threads_in(space)))
        return Ok{};
    std::stable_partition(all.begin(), all.end(),
                          [](const Mapping& m) { return m.path == vdso_path; });
    for (const Mapping& mapping : all) {
        if (!mapping.executable || !mapping.readable || mapping.path == "[vsyscall]")
            continue;
        if (auto found = find_syscall_in(space, mapping)) {
            // A breakpoint may have replaced the instruction.
            if (space.tracepoints.find(*found) != nullptr)
                continue;
            space.call_place.use_existing(*found);
            return Ok{};
        }
    }
    return Error{Code::unsupported,
                 "none of its mappings contains a syscall instruction"};
}

// Suspends the thread's seccomp filter, if the thread has one. Returns why that is not
// possible, or an empty string.
std::string Injector::refusal(Thread& thread)
{
    std::string status = thread_status(thread.process->pid, thread.tid);
    if (status_number(status, "Seccomp") == 0)
        return {};
    if (ptrace(PTRACE_SETOPTIONS, thread.tid, nullptr,
               options_of(thread) | PTRACE_O_SUSPEND_SECCOMP) == 0) {
        thread.under_seccomp = true;
        return {};
    }
    return "it runs under seccomp, and dtrace cannot suspend its filter, which "
           "requires CAP_SYS_ADMIN";
}

// Returns whether our breakpoint or single-step caused this signal. Such a signal must
// not be delivered to the program.
static bool is_our_trap(const siginfo_t& info, const AddressSpace& space,
                        const user_regs_struct& user)
{
    return info.si_signo == SIGTRAP &&
           (info.si_code == TRAP_TRACE ||
            (info.si_code == SI_KERNEL &&
             (info.si_errno == hit_magic ||
              space.tracepoints.find({user.rip - 1}) != nullptr)) ||
            space.slots.contain({user.rip - 1}));
}

constexpr int max_leave_exec_ms = 2000;

// Resumes a thread that is stopped inside execve(2), and waits until it stops before
// the first instruction of the new program.
Result<Ok> Injector::leave_exec(Thread& thread)
{
    const pid_t tid = thread.tid;
    thread.inside_exec = false;
    ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    resume_thread(PTRACE_CONT, tid, 0);
    for (int ms = 0; ms < max_leave_exec_ms;) {
        WaitStatus status;
        pid_t reported = waitpid(tid, &status.raw, __WALL | WNOHANG);
        if (reported == tid && !status.is_stopped())
            return Error{Code::gone, "it ended"};
        if (reported == tid && status.event() == PTRACE_EVENT_STOP) {
            thread.status = status;
            return Ok{};
        }
        if (reported == tid) // stopped for a signal or another event
            resume_thread(PTRACE_CONT, tid, status.event() == 0 ? status.signal() : 0);
        if (reported < 0 && errno != EINTR)
            return errno_error("wait for its exec to finish");
        if (reported == 0) {
            usleep(1000);
            ++ms;
        }
    }
    return Error{Code::busy, "its exec did not finish in time"};
}

Result<std::uint64_t> Injector::call(Thread& thread, long number,
                                     std::array<std::uint64_t, 6> args)
{
    AddressSpace& space = *thread.process->space;
    pid_t tid = thread.tid;
    if (is_stub_in_use(space))
        return Error{Code::gone, "an injected system call has not returned yet"};
    if (thread.inside_exec)
        if (auto left = leave_exec(thread); !left)
            return left.error();
    if (auto found = find_syscall_insn(space); !found)
        return found.error();
    if (std::string why = refusal(thread); !why.empty())
        return Error{Code::permission, why};

    user_regs_struct before;
    siginfo_t info{};
    std::uint64_t mask = 0;
    bool signal_stop = thread.event() == 0;
    if (!get_regs(tid, before) || !get_mask(tid, mask) ||
        (signal_stop && !get_siginfo(tid, info)))
        return Error{Code::gone, "it ended"};
    user_regs_struct entry = before;
    entry.rip = space.call_place.insn().value;
    entry.rax = static_cast<std::uint64_t>(number);
    entry.orig_rax = ~0ull; // so that the kernel does not restart a system call
    entry.rdi = args[0];
    entry.rsi = args[1];
    entry.rdx = args[2];
    entry.r10 = args[3];
    entry.r8 = args[4];
    entry.r9 = args[5];
    entry.eflags &= ~0x100ull;
    if (space.call_place.stub().value != 0) {
        CallBlock block = block_for(before, mask);
        if (!space.write_text(block_of(space.call_place.stub()),
                              std::as_bytes(std::span(&block, 1))))
            return Error{Code::gone, "it ended"};
    }
    bool kept =
        signal_stop && (thread.is_pending() || !is_our_trap(info, space, before));
    // The signal of the current stop can be delivered after the call only if the call
    // is single-stepped (step_over_call()). If the agent dies during the step, the
    // step's SIGTRAP kills the program. So an asynchronous signal is deferred instead,
    // and sent again later.
    bool resent = kept && thread.is_pending() && !is_synchronous(info);
    if (resent)
        defer_signal(thread, info);
    std::uint64_t blocked = asynchronous_signals;
    if (thread.delivers != 0) // if blocked, the signal would become pending again
        blocked &= ~signal_bit(thread.delivers);
    // The end of a single step is reported with SIGTRAP, which must not be blocked then.
    if (thread.trap_waits && (!kept || resent))
        blocked |= signal_bit(SIGTRAP);
    set_regs(tid, entry);
    set_mask(tid, blocked);
    bool in_group_stop = false;
    auto result = kept && !resent ? step_over_call(thread, entry.rip, in_group_stop)
                                  : run_call(thread, in_group_stop);
    if (tracees_.find_thread(tid) != &thread)
        return result;
    if (!result && result.error().code == Code::busy) {
        thread.late_call = Thread::LateCall{before, mask};
        recall(thread);
        return Error{Code::gone, result.error().text};
    }
    // The mask is restored before the registers. If the agent dies between the two, the
    // thread is still in the stub, which restores both.
    set_mask(tid, mask);
    set_regs(tid, before);
    ptrace(PTRACE_SETOPTIONS, tid, nullptr, options_of(thread));
    if (resent) {
        if (!is_stop_signal(info.si_signo))
            repeat_wait(tid); // the stop may have interrupted a call by the program
    } else if (kept)
        set_siginfo(tid, info); // the signal is delivered from this stop
    // The thread enters its group-stop again.
    if (in_group_stop)
        ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    return result;
}

static Error late_call_error()
{
    return Error{Code::busy, "an injected system call did not return in time"};
}

Waited Injector::run_to_stop(Thread& thread, int request, WaitStatus& status)
{
    const Waited waited =
        resume_thread(request, thread)
            ? tracees_.wait_for_stop(*thread.process->space, thread.tid, status)
            : Waited::ended;
    if (waited == Waited::ended)
        tracees_.drop_thread(thread, status);
    return waited;
}

// Makes a call in a thread that has no signal to deliver. The thread runs to the entry
// of the call, to its exit, and to a stop for PTRACE_INTERRUPT. From that last stop,
// the kernel can still restart a system call of the program, or continue a group-stop.
Result<std::uint64_t> Injector::run_call(Thread& thread, bool& in_group_stop)
{
    pid_t tid = thread.tid;
    Result<std::uint64_t> result = Error{Code::gone, "it ended"};
    ptrace(PTRACE_SETOPTIONS, tid, nullptr,
           options_of(thread) | PTRACE_O_TRACESYSGOOD |
               (thread.under_seccomp ? PTRACE_O_SUSPEND_SECCOMP : 0));
    int n_syscall_stops = 0;
    for (int round = 0; round < max_other_stops; ++round) {
        bool called = n_syscall_stops == 2;
        WaitStatus status;
        if (called)
            ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
        const Waited waited =
            run_to_stop(thread, called ? PTRACE_CONT : PTRACE_SYSCALL, status);
        if (waited == Waited::late)
            return late_call_error();
        if (waited == Waited::ended)
            return result;
        if (status.event() == PTRACE_EVENT_STOP && called) {
            thread.status = status;
            in_group_stop = status.is_group_stop();
            return result;
        }
        if (status.event() != 0) { // a stop caused by an earlier PTRACE_INTERRUPT
            in_group_stop = in_group_stop || status.is_group_stop();
            continue;
        }
        if (status.is_in_system_call()) {
            user_regs_struct after;
            if (++n_syscall_stops == 2 && get_regs(tid, after))
                result = static_cast<std::uint64_t>(after.rax);
            continue;
        }
        if (is_stop_signal(status.signal())) { // SIGSTOP cannot be blocked
            thread.delivers = status.signal();
            continue;
        }
        // The signal is SIGSYS, or a fault at the `syscall` instruction.
        result = Error{Code::permission,
                       "the target is not allowed to make the system call"};
        n_syscall_stops = 2;
    }
    return result;
}

// Makes a call in a thread that has stopped for a signal. The signal must be delivered
// after the call. The kernel can deliver it only from a stop for a signal, and a single
// step ends in such a stop. So the call is single-stepped.
Result<std::uint64_t> Injector::step_over_call(Thread& thread, std::uint64_t insn,
                                               bool& in_group_stop)
{
    pid_t tid = thread.tid;
    Error ended{Code::gone, "it ended"};
    for (int round = 0; round < max_other_stops; ++round) {
        WaitStatus status;
        const Waited waited = run_to_stop(thread, PTRACE_SINGLESTEP, status);
        if (waited == Waited::late)
            return late_call_error();
        if (waited == Waited::ended)
            return ended;
        if (status.event() != 0) {
            in_group_stop = in_group_stop || status.is_group_stop();
            continue;
        }
        if (is_stop_signal(status.signal())) { // SIGSTOP cannot be blocked
            thread.delivers = status.signal();
            continue;
        }
        user_regs_struct after;
        if (!get_regs(tid, after))
            return ended;
        if (status.signal() == SIGTRAP && after.rip == insn + 2)
            return static_cast<std::uint64_t>(after.rax);
        break;
    }
    return Error{Code::permission, "the target is not allowed to make the system call"};
}

bool Injector::ensure_slots(Thread& thread)
{
    AddressSpace& space = *thread.process->space;
    if (space.slots.has_free(thread.tid))
        return true;
    if (!space.call_place.refusal().empty())
        return false;
    // The agent writes the page through /proc/PID/mem. The page is never writable, so
    // even a program with PR_SET_MDWE may map it.
    auto page =
        map_ours(thread, {Ours::slots, {}, slot_page_bytes, PROT_READ | PROT_EXEC});
    if (!page) {
        if (page.error().code != Code::gone)
            space.call_place.refuse(page.error().text);
        return false;
    }
    if (*page > ~4095ull) {
        space.call_place.refuse(
            *page == -std::uint64_t{ENOMEM}
                ? "the target cannot map more memory (ulimit -v, vm.max_map_count)"
                : "the target is not allowed to map executable memory");
        return false;
    }
    space.slots.add_page({*page}, slot_page_bytes);
    space.rescue.add_slot_page(space, {*page});
    return true;
}

} // namespace dt::agent
