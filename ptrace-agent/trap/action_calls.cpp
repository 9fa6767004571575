// SPDX-License-Identifier: MIT
#include "ptrace-agent/trap/action_calls.hpp"

#include <span>
#include <sys/syscall.h>

namespace dt::agent {

// The offset of a system call's argument in the rescue's region. No thread of the
// target uses these bytes.
constexpr std::uint64_t scratch_in_rescue = 0x1800;

bool exchange_action(Injector& injector, Thread& thread, int signal,
                     const KernelAction* wanted, KernelAction* previous,
                     std::optional<TargetAddr> room)
{
    std::shared_ptr<AddressSpace> space = thread.process->space;
    const auto number = static_cast<std::uint64_t>(signal);
    if (wanted != nullptr && previous == nullptr && space->rescue.installed()) {
        const TargetAddr scratch = space->rescue.at() + scratch_in_rescue;
        if (!space->write_text(scratch, std::as_bytes(std::span(*wanted))))
            return false;
        auto done = injector.call(thread, SYS_rt_sigaction,
                                  {number, scratch.value, 0, 8, 0, 0});
        return done && *done == 0;
    }
    user_regs_struct user;
    if (!get_regs(thread.tid, user))
        return false;
    const TargetAddr at = room.value_or(TargetAddr{(user.rsp - 1024) & ~15ull});
    KernelAction before{};
    if (!space->read_value(at, before) ||
        (wanted != nullptr && !space->write(at, std::as_bytes(std::span(*wanted)))))
        return false;
    std::uint64_t in = wanted != nullptr ? at.value : 0;
    std::uint64_t out = previous != nullptr ? at.value : 0;
    auto done = injector.call(thread, SYS_rt_sigaction, {number, in, out, 8, 0, 0});
    bool good =
        done && *done == 0 && (previous == nullptr || space->read_value(at, *previous));
    space->write(at, std::as_bytes(std::span(before)));
    return good;
}

bool replace_action(Injector& injector, Thread& thread, int signal,
                    const KernelAction& expected, const KernelAction& wanted,
                    std::optional<TargetAddr> room)
{
    KernelAction found{};
    if (!exchange_action(injector, thread, signal, &wanted, &found, room))
        return false;
    if (found == expected)
        return true;
    exchange_action(injector, thread, signal, &found, nullptr);
    return false;
}

Thread* calling_thread(Tracees& tracees, const Process& process)
{
    Thread* with_signal = nullptr;
    for (Thread* thread : tracees.threads_in(*process.space)) {
        if (thread->process != &process || !thread->is_stopped() || thread->in_vfork)
            continue;
        if (thread->event() == PTRACE_EVENT_STOP)
            return thread;
        if (thread->event() == 0)
            with_signal = thread;
    }
    return with_signal;
}

} // namespace dt::agent
