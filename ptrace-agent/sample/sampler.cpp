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
#include <optional>

namespace dt::agent {

// A shorter interval would keep the agent from doing anything else. libdtrace refuses it.
constexpr std::uint64_t shortest_interval_ns = 100'000;

std::string Sampler::Sampling::left_out() const
{
    const std::uint64_t all = n_samples + n_left_out;
    if (n_left_out * 100 <= all) // up to 1 % is normal, because some ticks end early
        return {};
    return "profile: " + std::to_string(n_left_out) + " of " + std::to_string(all) +
           " samples were skipped, because sampling may use at most 5 % of the running "
           "threads' time or because the processors were busy; use a lower rate to get "
           "all samples";
}

void Sampler::Sampling::leave_out_known()
{
    if (!due.empty())
        n_left_out += rotation.n_busy_left();
    rotation.skip_known();
}

Result<std::string> Sampler::start(unsigned session,
                                   std::span<const ProfileTimer> timers)
{
    std::string left_out;
    if (const auto before = samplings_.find(session); before != samplings_.end()) {
        left_out = before->second.left_out();
        samplings_.erase(before);
    }
    for (auto& [tid, thread] : tracees_.threads())
        std::erase_if(thread->samples, [session](const Sample& each) {
            return each.session == session;
        });
    const bool valid =
        std::all_of(timers.begin(), timers.end(),
                    [](const ProfileTimer& timer) { return timer.interval_ns != 0; });
    if (valid && !timers.empty()) {
        Sampling& sampling = samplings_[session];
        const std::uint64_t now = monotonic_ns();
        for (ProfileTimer timer : timers) {
            timer.interval_ns = std::max(timer.interval_ns, shortest_interval_ns);
            sampling.timers.push_back({timer, now + timer.interval_ns});
        }
        for (auto& [tid, thread] : tracees_.threads())
            sampling.rotation.add(tid);
    }
    set_alarm();
    if (!valid)
        return Error{Code::invalid,
                     "profile: the interval of a timer must be longer than 0 ns"};
    return left_out;
}

bool Sampler::is_sampling(unsigned session) const
{
    return samplings_.contains(session);
}

void Sampler::thread_added(pid_t tid)
{
    for (auto& [session, sampling] : samplings_)
        sampling.rotation.add(tid);
}

void Sampler::set_alarm()
{
    std::uint64_t next = 0;
    for (const auto& [session, sampling] : samplings_)
        for (const Timer& timer : sampling.timers)
            next = sooner(next, timer.due);
    alarms_.set(Alarms::sampling, next);
}

void Sampler::begin_tick_if_due()
{
    const std::uint64_t now = monotonic_ns();
    for (auto& [session, sampling] : samplings_) {
        std::vector<std::uint32_t> due;
        for (Timer& timer : sampling.timers) {
            if (timer.due > now)
                continue;
            due.push_back(timer.timer.probe);
            const std::uint64_t passed =
                (now - timer.due) / timer.timer.interval_ns + 1;
            timer.due += passed * timer.timer.interval_ns;
            // Ticks that have passed without samples.
            sampling.n_left_out += (passed - 1) * sampling.rotation.n_busy();
        }
        if (due.empty())
            continue;
        sampling.leave_out_known();
        sampling.due = std::move(due);
        sampling.rotation.begin();
    }
    if (!samplings_.empty())
        set_alarm();
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

// Returns the next session in turn that has due probes.
Sampler::Samplings::iterator Sampler::next_due()
{
    auto has_due = [](const auto& each) { return !each.second.due.empty(); };
    const auto after = samplings_.upper_bound(last_);
    const auto found = std::find_if(after, samplings_.end(), has_due);
    if (found != samplings_.end())
        return found;
    const auto first = std::find_if(samplings_.begin(), after, has_due);
    return first != after ? first : samplings_.end();
}

bool Sampler::sample_some()
{
    for (auto next = next_due(); next != samplings_.end(); next = next_due()) {
        last_ = next->first;
        if (sample_some(next->first, next->second))
            return true;
    }
    return false;
}

// Returns false if nothing is left to do in this tick of the session.
bool Sampler::sample_some(unsigned session, Sampling& sampling)
{
    constexpr int max_looks = 8; // threads to examine before stops are handled
    if (!sampling.budget.may_spend(monotonic_ns(), sampling.rotation.n_busy())) {
        sampling.leave_out_known();
        if (!sampling.rotation.is_new_next()) {
            sampling.due.clear();
            return false;
        }
    }
    // The first look at a thread costs less than attaching to it, and is not charged to
    // the budget. Otherwise a running thread would be found late among thousands.
    const bool looks_at_new = sampling.rotation.is_new_next();
    std::optional<SampleMeter> meter;
    if (!looks_at_new)
        meter.emplace(sampling.budget);
    const std::uint64_t before = SampleMeter::now();
    if (tracees_.collect(Wait::poll))
        return true;
    const std::uint64_t wait_ns = SampleMeter::now() - before;
    for (int i = 0; i < max_looks && sampling.rotation.is_new_next() == looks_at_new;
         ++i) {
        auto tid = sampling.rotation.next();
        if (!tid) {
            sampling.due.clear();
            return false;
        }
        Thread* thread = tracees_.find_thread(*tid);
        if (thread == nullptr || !begin_sample(session, sampling, *thread))
            continue;
        // The stop will cause two scans of all threads in waitpid(). Charge their time
        // now.
        sampling.budget.spend(2 * wait_ns);
        return true;
    }
    return true;
}

// Examines a thread, and stops it if it is running. Returns whether it will be sampled.
bool Sampler::begin_sample(unsigned session, Sampling& sampling, Thread& thread)
{
    using enum Rotation::Found;
    const bool is_due =
        std::any_of(thread.samples.begin(), thread.samples.end(),
                    [session](const Sample& each) { return each.session == session; });
    if (is_due) {
        // The stop that an earlier tick requested has not been handled yet. This tick
        // gets no sample of the thread.
        ++sampling.n_left_out;
        sampling.rotation.seen(running);
        return false;
    }
    if (thread.process->interests.count(session) == 0 || !may_be_sampled(thread)) {
        sampling.rotation.seen(unknown);
        return false;
    }
    if (thread_state(thread.process->pid, thread.tid) != 'R') {
        sampling.rotation.seen(asleep);
        return false;
    }
    sampling.rotation.seen(running);
    for (std::uint32_t probe : sampling.due)
        thread.samples.push_back({session, probe});
    ++sampling.n_samples;
    if (!thread.interrupted) {
        thread.interrupted = true;
        ptrace(PTRACE_INTERRUPT, thread.tid, nullptr, nullptr);
    }
    return true;
}

void Sampler::take_sample(Thread& thread)
{
    const std::vector<Sample> samples = std::exchange(thread.samples, {});
    user_regs_struct user;
    if (samples.empty() || !get_regs(thread.tid, user))
        return;
    user.rip = program_pc(*thread.process->space, user).value;
    Registers regs = from_user_regs(user);
    for (const Sample& sample : samples) {
        const auto sampling = samplings_.find(sample.session);
        const AgentSession* session = tracees_.sessions().find(sample.session);
        if (sampling == samplings_.end() || session == nullptr ||
            session->arena.base() == nullptr)
            continue;
        SampleMeter meter(sampling->second.budget);
        FiringHost(session->arena, thread, regs)
            .fire_at_stop(sample.probe, std::array<std::uint64_t, 2>{0, user.rip});
    }
}

} // namespace dt::agent
