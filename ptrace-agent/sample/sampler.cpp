// SPDX-License-Identifier: MIT
#include "ptrace-agent/sample/sampler.hpp"

#include "base/clock_ns.hpp"
#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/host.hpp"
#include "ptrace-agent/inject/our_code.hpp"

#include <algorithm>
#include <ctime>

namespace dt::agent {

// A shorter interval would keep the agent from doing anything else. libdtrace refuses it.
constexpr std::uint64_t shortest_interval_ns = 100'000;

// Counts skipped samples for each session that has a probe due.
void Sampler::leave_out(std::uint64_t n)
{
    SessionSet sessions;
    for (const Sample& due : due_)
        sessions.set(due.session);
    for (auto& [session, counts] : counts_)
        if (sessions.test(session))
            counts.n_left_out += n;
}

std::string Sampler::take_left_out(unsigned session)
{
    const Counts counts = counts_[session];
    counts_.erase(session);
    const std::uint64_t left_out = counts.n_left_out;
    const std::uint64_t all = counts.n_samples + left_out;
    if (left_out * 100 <= all) // up to 1 % is normal, because some ticks end early
        return {};
    return "profile: " + std::to_string(left_out) + " of " + std::to_string(all) +
           " samples were skipped, because sampling may use at most 5 % of the running "
           "threads' time or because the processors were busy; use a lower rate to get "
           "all samples";
}

Result<std::string> Sampler::start(unsigned session,
                                   std::span<const ProfileTimer> timers)
{
    std::string left_out = take_left_out(session);
    std::erase_if(timers_,
                  [session](const Timer& each) { return each.session == session; });
    for (auto& [tid, thread] : tracees_.threads())
        std::erase_if(thread->samples, [session](const Sample& each) {
            return each.session == session;
        });
    due_.clear();
    rotation_ = {};
    budget_ = {};
    std::uint64_t now = monotonic_ns();
    for (const ProfileTimer& timer : timers) {
        if (timer.interval_ns == 0)
            return Error{Code::invalid,
                         "profile: the interval of a timer must be longer than 0 ns"};
        ProfileTimer kept = timer;
        kept.interval_ns = std::max(kept.interval_ns, shortest_interval_ns);
        timers_.push_back({session, kept, now + kept.interval_ns});
        counts_[session] = {};
    }
    if (!timers_.empty()) {
        for (auto& [tid, thread] : tracees_.threads())
            rotation_.add(tid);
    }
    set_alarm();
    return left_out;
}

bool Sampler::is_sampling(unsigned session) const
{
    return std::ranges::any_of(
        timers_, [session](const Timer& each) { return each.session == session; });
}

void Sampler::thread_added(pid_t tid)
{
    if (!timers_.empty())
        rotation_.add(tid);
}

void Sampler::set_alarm()
{
    std::uint64_t next = 0;
    for (const Timer& timer : timers_)
        next = sooner(next, timer.due);
    alarms_.set(Alarms::sampling, next);
}

void Sampler::begin_tick_if_due()
{
    if (timers_.empty())
        return;
    std::uint64_t now = monotonic_ns();
    std::vector<Sample> due;
    for (Timer& timer : timers_) {
        if (timer.due > now)
            continue;
        due.push_back({timer.session, timer.timer.probe});
        std::uint64_t passed = (now - timer.due) / timer.timer.interval_ns + 1;
        timer.due += passed * timer.timer.interval_ns;
        // Ticks that have passed without samples.
        counts_[timer.session].n_left_out += (passed - 1) * rotation_.n_busy();
    }
    set_alarm();
    if (due.empty())
        return;
    leave_out_rest();
    due_ = std::move(due);
    rotation_.begin();
}

// Ends the tick, and adds the unexamined busy threads to n_left_out_.
void Sampler::leave_out_rest()
{
    if (!due_.empty())
        leave_out(rotation_.n_busy_left());
    due_.clear();
}

// Charges the CPU time of the agent's main thread to the sampling budget while this
// object exists.
class SampleMeter {
public:
    explicit SampleMeter(SampleBudget& budget) : budget_(budget), began_(now()) {}
    ~SampleMeter() { budget_.spend(now() - began_); }
    SampleMeter(const SampleMeter&) = delete;
    SampleMeter& operator=(const SampleMeter&) = delete;

    static std::uint64_t now()
    {
        timespec t{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
               static_cast<std::uint64_t>(t.tv_nsec);
    }

private:
    SampleBudget& budget_;
    std::uint64_t began_;
};

static bool may_be_sampled(const Thread& thread)
{
    const Process& process = *thread.process;
    return process.is_target() && process.started &&
           thread.state() == ThreadState::running && thread.age != ThreadAge::fresh &&
           !thread.in_vfork && thread.leaving == Leaving::no;
}

bool Sampler::sample_some()
{
    constexpr int max_looks = 8; // threads to examine before stops are handled
    if (due_.empty())
        return false;
    if (!budget_.may_spend(monotonic_ns(), rotation_.n_busy())) {
        leave_out_rest();
        return false;
    }
    SampleMeter meter(budget_);
    const std::uint64_t before = SampleMeter::now();
    if (tracees_.collect(Wait::poll))
        return true;
    const std::uint64_t wait_ns = SampleMeter::now() - before;
    for (int i = 0; i < max_looks; ++i) {
        auto tid = rotation_.next();
        if (!tid) {
            due_.clear();
            return false;
        }
        Thread* thread = tracees_.find_thread(*tid);
        if (thread == nullptr)
            continue;
        if (!thread->samples.empty()) {
            // The stop that an earlier tick requested has not been handled yet. This
            // tick gets no sample of the thread.
            leave_out(1);
            rotation_.seen(Rotation::Found::running);
            continue;
        }
        if (!may_be_sampled(*thread)) {
            rotation_.seen(Rotation::Found::unknown);
            continue;
        }
        if (thread_state(thread->process->pid, *tid) != 'R') {
            rotation_.seen(Rotation::Found::asleep);
            continue;
        }
        rotation_.seen(Rotation::Found::running);
        for (const Sample& due : due_)
            if (thread->process->interests.count(due.session) != 0)
                thread->samples.push_back(due);
        if (thread->samples.empty())
            continue;
        SessionSet sampled;
        for (const Sample& sample : thread->samples)
            sampled.set(sample.session);
        for (auto& [session, counts] : counts_)
            counts.n_samples += sampled.test(session) ? 1 : 0;
        if (!thread->interrupted) {
            thread->interrupted = true;
            ptrace(PTRACE_INTERRUPT, *tid, nullptr, nullptr);
        }
        // The stop will cause two scans of all threads in waitpid(). Charge their time
        // now.
        budget_.spend(2 * wait_ns);
        return true;
    }
    return true;
}

void Sampler::take_sample(Thread& thread)
{
    const std::vector<Sample> samples = std::exchange(thread.samples, {});
    user_regs_struct user;
    if (samples.empty() || !get_regs(thread.tid, user))
        return;
    SampleMeter meter(budget_);
    user.rip = program_pc(*thread.process->space, user).value;
    Registers regs = from_user_regs(user);
    for (const Sample& sample : samples) {
        const AgentSession* session = tracees_.sessions().find(sample.session);
        if (session != nullptr && session->arena.base() != nullptr)
            FiringHost(session->arena, thread, regs).fire_profile(sample.probe);
    }
}

} // namespace dt::agent
