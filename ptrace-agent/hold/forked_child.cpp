// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/forked_child.hpp"

#include "base/clock_ns.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/seize.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"
#include "ptrace-agent/runtime/runtime.h"

#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace dt::agent {

namespace {

constexpr std::uint64_t timeout_ns = 1'000'000'000;
constexpr useconds_t pause_us = 1000;

// The threads of the child, which are detached when the object is destroyed.
class ChildThreads {
public:
    ChildThreads(Tracees& tracees, pid_t child) : tracees_(tracees), child_(child) {}
    ~ChildThreads()
    {
        for (const auto& [tid, status] : stops_) {
            if (!status)
                tracees_.detach_at_first_stop(tid);
            else
                ptrace(PTRACE_DETACH, tid, nullptr,
                       static_cast<long>(signal_of(*status)));
        }
    }
    ChildThreads(const ChildThreads&) = delete;
    ChildThreads& operator=(const ChildThreads&) = delete;

    // Seizes all threads, and stops them. Returns false if that takes too long.
    bool stop(std::uint64_t ends);
    // Lets the threads run for a moment.
    void run();
    bool is_in(const AddressSpace& space) const;
    bool empty() const { return stops_.empty(); }

private:
    // Returns the signal with which a stopped thread continues.
    static int signal_of(WaitStatus status)
    {
        return status.event() == 0 ? status.signal() : 0;
    }
    bool seize_more();

    Tracees& tracees_;
    pid_t child_;
    std::map<pid_t, std::optional<WaitStatus>> stops_; // no value: the thread runs
};

bool ChildThreads::seize_more()
{
    bool any = false;
    for (pid_t tid : threads_of(child_)) {
        if (stops_.contains(tid) || seize(tid, 0) != 0)
            continue;
        stops_[tid] = std::nullopt;
        ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
        any = true;
    }
    return any;
}

bool ChildThreads::stop(std::uint64_t ends)
{
    for (; monotonic_ns() < ends; usleep(pause_us)) {
        const bool any_new = seize_more();
        bool all_stopped = !any_new;
        for (auto each = stops_.begin(); each != stops_.end();) {
            auto& [tid, status] = *each;
            WaitStatus next;
            if (status || waitpid(tid, &next.raw, __WALL | WNOHANG) != tid) {
                all_stopped = all_stopped && status.has_value();
                ++each;
            } else if (!next.is_stopped()) {
                each = stops_.erase(each); // it has exited
            } else {
                status = next;
                ++each;
            }
        }
        if (all_stopped)
            return true;
    }
    return false;
}

void ChildThreads::run()
{
    for (auto& [tid, status] : stops_) {
        resume_thread(PTRACE_CONT, tid, signal_of(*status));
        status.reset();
    }
    usleep(pause_us);
    for (const auto& [tid, status] : stops_)
        ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
}

// Returns whether a thread is in our code.
bool ChildThreads::is_in(const AddressSpace& space) const
{
    for (const auto& [tid, status] : stops_) {
        user_regs_struct user;
        if (!get_regs(tid, user) || in_our_code(space, {user.rip}) ||
            is_inside_window(space, {user.rip}))
            return true;
    }
    return false;
}

} // namespace

ChildState restore_forked_child(Tracees& tracees, const AddressSpace& space,
                                pid_t child)
{
    const Fd mem = open_mem(child);
    std::uint64_t magic = 0;
    std::uint32_t live = 0;
    auto is_child = [&] {
        auto reads = [&mem](TargetAddr from, auto& into) {
            return pread(mem.get(), &into, sizeof into,
                         static_cast<off_t>(from.value)) ==
                   static_cast<ssize_t>(sizeof into);
        };
        return reads(space.runtime.image, magic) && magic == DT_RT_MAGIC &&
               reads(space.runtime.image + DT_RT_LIVE, live) && live == 0;
    };
    if (!mem || !is_child())
        return ChildState::no_child;
    const std::uint64_t ends = monotonic_ns() + timeout_ns;
    ChildThreads threads(tracees, child);
    while (threads.stop(ends) && !threads.empty()) {
        if (!is_child()) // it has executed another program
            return ChildState::no_child;
        if (!threads.is_in(space)) {
            space.patches.restore_in(child);
            space.call_place.remove_stub_in(child);
            return ChildState::restored;
        }
        threads.run();
    }
    return ChildState::not_stopped;
}

} // namespace dt::agent
