// SPDX-License-Identifier: MIT
// Handles injected system calls that do not return within the deadline.
//
//   late ── PTRACE_INTERRUPT ──> stops within recall_ns: it is restored at once
//                             └> does not stop: it is restored at its next stop
//
// To restore a thread means to set the registers and the signal mask that it had before
// the call. Thread::late_call keeps both until then.
//
// A late thread is in the stub (call_stub.S), or is about to enter the stub. Until the
// thread is restored, the stub must stay in the text. No other thread may use the stub,
// because its block describes the late thread.
//
// A frozen thread (cgroup.freeze) stops at PTRACE_INTERRUPT. So does a thread that has
// not entered the call yet. In both cases, the call was not made.
#include "ptrace-agent/inject/injector.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/call_stub.hpp"

#include <algorithm>

namespace dt::agent {

constexpr std::uint64_t recall_ns = 50'000'000;
constexpr int syscall_stop = SIGTRAP | 0x80; // PTRACE_O_TRACESYSGOOD

bool Injector::is_stub_in_use(const AddressSpace& space) const
{
    auto threads = tracees_.threads_in(space);
    return std::any_of(threads.begin(), threads.end(), [](const Thread* thread) {
        return thread->late_call.has_value();
    });
}

// Ends the late call of a stopped thread (Thread::late_call), and restores the thread.
// Removes the stub if no other thread has a late call. Returns false if the injected
// call caused the stop. In that case the thread runs, and will stop once more.
bool Injector::end_late_call(Thread& thread)
{
    const auto call = std::exchange(thread.late_call, std::nullopt);
    if (!call || thread.event() == PTRACE_EVENT_EXEC)
        return true;
    set_mask(thread.tid, call->mask);
    set_regs(thread.tid, resumed(call->regs));
    AddressSpace& space = *thread.process->space;
    if (!is_stub_in_use(space))
        space.call_place.remove_stub(space);
    siginfo_t info;
    const bool of_the_call = thread.event() == 0 && (thread.signal() == syscall_stop ||
                                                     (thread.signal() == SIGTRAP &&
                                                      get_siginfo(thread.tid, info) &&
                                                      info.si_code == TRAP_TRACE));
    if (!of_the_call)
        return true;
    // The seccomp filter stays suspended. Otherwise the kernel would apply it to the
    // injected call, although the call is skipped.
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    thread.move_to(ThreadState::running);
    resume_thread(PTRACE_CONT, thread.tid, 0);
    return false;
}

// Interrupts a late call, and gives up on the process. Restores the thread if it stops
// within recall_ns. Otherwise end_late_call() restores it at its next stop.
void Injector::recall(Thread& thread)
{
    constexpr const char* why = "an injected system call did not return in time";
    AddressSpace& space = *thread.process->space;
    space.budget.restart(recall_ns);
    ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    const bool pending = thread.is_pending();
    for (;;) {
        WaitStatus status;
        switch (tracees_.wait_for_stop(space, thread.tid, status)) {
        case Waited::late:
            return tracees_.leave_late(thread, why);
        case Waited::ended:
            return tracees_.drop_thread(thread, status);
        case Waited::stopped:
            break;
        }
        thread.status = status;
        thread.stop(pending || thread.event() == 0);
        if (!end_late_call(thread))
            continue;
        ptrace(PTRACE_SETOPTIONS, thread.tid, nullptr, options_of(thread));
        if (thread.is_pending())
            tracees_.add_ready(thread.tid);
        return tracees_.give_up(space, why);
    }
}

} // namespace dt::agent
