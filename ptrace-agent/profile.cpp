// SPDX-License-Identifier: MIT
// profile-N in targets: where is each running thread, N times a second?
//
//   timer signal -> sample_if_due(): PTRACE_INTERRUPT to each thread that is on a CPU
//                -> its stop: take_sample() fires the probes that asked, and it goes on
//
// A sleeping thread is not woken: it would only be found asleep. An interval that passed
// while the agent was busy is not made up for. A sample costs its thread one ptrace stop.
#include "ptrace-agent/agent.hpp"

#include "base/clock_ns.hpp"
#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/proc_files.hpp"
#include "ptrace-agent/tracing.hpp"

#include <algorithm>

namespace dt::agent {

Agent::Reply Agent::do_profile(Reader& in, const std::vector<Fd>&)
{
    auto n = in.get<std::uint32_t>();
    auto wanted = in.array<ProfileTimer>(n);
    if (!in.ok())
        return Error{Code::invalid, "profile: the request is cut short"};
    sampling_.clear();
    std::uint64_t now = monotonic_ns();
    for (const ProfileTimer& timer : wanted) {
        if (timer.interval_ns == 0)
            return Error{Code::invalid, "profile: an interval of nothing"};
        sampling_.push_back({timer, now + timer.interval_ns});
    }
    set_alarm();
    return Body{};
}

// The next sample, the end of our patience with the client, or room for signals.
void Agent::set_alarm()
{
    std::uint64_t next = sooner(patience_ends_, crowded_ns_);
    for (const Sampling& sampling : sampling_)
        next = sooner(next, sampling.due);
    Mailbox::ring_at(next);
}

void Agent::sample_if_due()
{
    if (sampling_.empty())
        return;
    std::uint64_t now = monotonic_ns();
    std::vector<std::uint32_t> due;
    for (Sampling& sampling : sampling_) {
        if (sampling.due > now)
            continue;
        due.push_back(sampling.timer.probe);
        std::uint64_t passed = (now - sampling.due) / sampling.timer.interval_ns + 1;
        sampling.due += passed * sampling.timer.interval_ns;
    }
    set_alarm();
    if (due.empty())
        return;
    for (auto& [pid, process] : processes_) {
        if (!process->is_target || !process->started)
            continue;
        for (auto& [tid, thread] : process->threads) {
            if (thread->stopped || thread->fresh || thread->listening ||
                thread->in_vfork || thread_state(pid, tid) != 'R')
                continue;
            thread->samples = due;
            if (!thread->interrupted) {
                thread->interrupted = true;
                ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
            }
        }
    }
}

void Agent::take_sample(Thread& thread)
{
    std::vector<std::uint32_t> probes = std::exchange(thread.samples, {});
    user_regs_struct user;
    if (probes.empty() || arena_.base() == nullptr || !get_regs(thread.tid, user))
        return;
    user.rip = program_pc(*thread.process->space, user).value;
    Registers regs = from_user_regs(user);
    FiringHost host(arena_, thread, regs);
    for (std::uint32_t probe : probes)
        host.fire_profile(probe);
}

} // namespace dt::agent
