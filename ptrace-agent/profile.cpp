// SPDX-License-Identifier: MIT
// profile-N in targets: where is each running thread, N times a second?
//
//   timer signal -> sample_if_due(): a tick begins
//   main loop, when no stopped thread waits -> sample_some(): looks at some threads,
//                   PTRACE_INTERRUPT to one that is on a CPU
//                -> its stop: take_sample() fires due probes; the thread continues
//
// A sleeping thread is not woken: it would only be found asleep. An interval that passed
// while the agent was busy is not made up for. A sample costs its thread one ptrace stop.
//
// Whatever the number of threads, sampling uses at most 5 % of a processor for each
// running thread: rotation.hpp decides which threads are examined and how the time is
// counted. Running threads that were skipped for lack of time are counted, and reported
// when sampling ends.
#include "ptrace-agent/agent.hpp"

#include "base/clock_ns.hpp"
#include "fasttrap/arch/x86_64/user_regs.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/host.hpp"

#include <algorithm>
#include <ctime>

namespace dt::agent {

void Agent::report_left_out()
{
    const std::uint64_t left_out = std::exchange(n_left_out_, 0);
    const std::uint64_t all = std::exchange(n_samples_, 0) + left_out;
    if (left_out * 100 <= all) // a few, from a tick that ended early by chance
        return;
    for (auto& [pid, process] : tracees_.processes()) {
        if (process->is_target)
            return client_.report_error(
                pid, "profile: " + std::to_string(left_out) + " of " +
                         std::to_string(all) +
                         " samples were left out: sampling takes at most "
                         "5 % of the time of running threads; use a lower "
                         "rate to get all");
    }
}

Agent::Reply Agent::do_profile(Reader& in, const std::vector<Fd>&)
{
    auto n = in.get<std::uint32_t>();
    auto wanted = in.array<ProfileTimer>(n);
    if (!in.ok())
        return Error{Code::invalid, "profile: the request is cut short"};
    report_left_out();
    sampling_.clear();
    due_.clear();
    rotation_ = {};
    sample_budget_ = {};
    std::uint64_t now = monotonic_ns();
    for (const ProfileTimer& timer : wanted) {
        if (timer.interval_ns == 0)
            return Error{Code::invalid, "profile: an interval of nothing"};
        sampling_.push_back({timer, now + timer.interval_ns});
    }
    if (!sampling_.empty()) {
        for (auto& [tid, thread] : tracees_.threads())
            rotation_.add(tid);
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
    leave_out_rest();
    due_ = std::move(due);
    rotation_.begin();
}

// Ends the tick before all running threads were sampled, and counts the rest.
void Agent::leave_out_rest()
{
    if (!due_.empty())
        n_left_out_ += rotation_.n_busy_left();
    due_.clear();
}

// Measures CPU time of this thread and charges it to the budget of sampling.
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
    return process.is_target && process.started &&
           thread.state() == ThreadState::running && thread.age != ThreadAge::fresh &&
           !thread.in_vfork && thread.leaving == Leaving::no;
}

bool Agent::sample_some()
{
    constexpr int looks_at_once = 8; // then stopped threads are handled
    if (due_.empty())
        return false;
    if (!sample_budget_.may_spend(monotonic_ns(), rotation_.n_busy())) {
        leave_out_rest();
        return false;
    }
    SampleMeter meter(sample_budget_);
    const std::uint64_t before = SampleMeter::now();
    if (tracees_.collect(Wait::poll))
        return true;
    const std::uint64_t wait_ns = SampleMeter::now() - before;
    for (int i = 0; i < looks_at_once; ++i) {
        auto tid = rotation_.next();
        if (!tid) {
            due_.clear();
            return false;
        }
        Thread* thread = tracees_.find_thread(*tid);
        if (thread == nullptr)
            continue;
        if (!may_be_sampled(*thread)) {
            rotation_.seen(Rotation::Found::unknown);
            continue;
        }
        if (thread_state(thread->process->pid, *tid) != 'R') {
            rotation_.seen(Rotation::Found::asleep);
            continue;
        }
        rotation_.seen(Rotation::Found::running);
        thread->samples = due_;
        if (!thread->interrupted) {
            thread->interrupted = true;
            ptrace(PTRACE_INTERRUPT, *tid, nullptr, nullptr);
        }
        ++n_samples_;
        // waitpid() scans all threads when the stop arrives, and once more before it
        // sleeps.
        sample_budget_.spend(2 * wait_ns);
        return true;
    }
    return true;
}

void Agent::take_sample(Thread& thread)
{
    std::vector<std::uint32_t> probes = std::exchange(thread.samples, {});
    user_regs_struct user;
    if (probes.empty() || arena_.base() == nullptr || !get_regs(thread.tid, user))
        return;
    SampleMeter meter(sample_budget_);
    user.rip = program_pc(*thread.process->space, user).value;
    Registers regs = from_user_regs(user);
    FiringHost host(arena_, thread, regs);
    for (std::uint32_t probe : probes)
        host.fire_profile(probe);
}

} // namespace dt::agent
