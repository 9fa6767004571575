// SPDX-License-Identifier: MIT
// The processes and threads that the agent holds, and the waits for them.
//
//   waitpid() ──> Tracees: which thread, which state ──> StopHandler: what the stop means
//
// Tracees knows when a thread runs and when it is stopped; it decides nothing about probes.
// The agent, its StopHandler, decides what a stop means. Files: tracees.cpp (the tables,
// and the reports of the kernel), stop_world.cpp (all threads of an address space),
// deadlines.cpp (waits that end).
//
// A call of the handler may end any thread. So its caller looks each thread up again.
#pragma once

#include "ptrace-agent/hold/target.hpp"
#include "ptrace-agent/wire/client_link.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt::agent {

enum class Try { again, last }; // whether a thread that is late gets another try
enum class Wait { block, poll, a_while }; // a_while: 20 ms
enum class Waited { stopped, ended, late };

class StopHandler {
public:
    virtual ~StopHandler() = default;
    // A thread is about to be reported with a SIGTRAP: the last moment at which the agent
    // may die without a report that is lost.
    virtual void secure_hit(Thread& thread) = 0;
    // A thread that is late with a system call of ours has stopped. Returns false if the
    // stop belongs to the call, and the thread runs again.
    virtual bool end_late_call(Thread& thread) = 0;
    // A stopped thread's trap or step becomes final, because its text may change.
    virtual void settle(Thread& thread) = 0;
    virtual void handle_stop(Thread& thread) = 0;
    // Returns whether its stop concerns the thread alone, and nothing of ours.
    virtual bool is_simple(const Thread& thread) const = 0;
    virtual void handle_new_task(Thread& parent) = 0;
    virtual void handle_vfork_done(Thread& parent) = 0;
    virtual void handle_exec(Thread& thread) = 0;
    // A new task stopped before its parent's stop announced it.
    virtual void handle_unannounced(pid_t tid) = 0;
    virtual void go_on(Thread& thread, int signal) = 0;
    virtual void handle_alarms() = 0; // whatever may be due
    virtual void take_sample(Thread& thread) = 0;
    virtual void before_release(AddressSpace& space) = 0; // of a stopped world
    virtual void thread_added(pid_t tid) = 0;
    virtual void process_ended(const Process& process, WaitStatus status) = 0;
};

class Tracees {
public:
    using Processes = std::unordered_map<pid_t, std::unique_ptr<Process>>;
    using Threads = std::unordered_map<pid_t, Thread*>;

    Tracees(ClientLink& client, StopHandler& handler)
        : client_(client), handler_(handler)
    {
    }

    // The tables.
    const Processes& processes() const { return processes_; }
    const Threads& threads() const { return threads_; }
    Process* find_process(pid_t pid) const;
    // Returns the process if it is a target, or the error of a request that names it.
    Result<Process*> find_target(pid_t pid, const char* doing) const;
    Thread* find_thread(pid_t tid);
    std::vector<Thread*> threads_in(const AddressSpace& space) const;
    // For calls that may end others: each is looked up again.
    std::vector<pid_t> tids_in(const AddressSpace& space) const;
    // Returns another process that runs in the thread's memory, a vfork child for example;
    // 0: none. A target before others.
    pid_t guest_of(const Thread& thread) const;
    Process& add_process(pid_t pid, std::shared_ptr<AddressSpace> space);
    Thread& add_thread(Process& process, pid_t tid);
    void drop_thread(Thread& thread, WaitStatus status); // it has ended
    void remove_thread(Thread& thread);                  // it is detached
    void remove_process(pid_t pid);
    void remove_others(Thread& thread); // threads of its process that an exec ended

    // Tasks that have stopped and that no parent's stop has announced.
    const std::unordered_map<pid_t, WaitStatus>& early_stops() const
    {
        return early_stops_;
    }
    void keep_early_stop(pid_t tid, WaitStatus status) { early_stops_[tid] = status; }
    void drop_early_stop(pid_t tid) { early_stops_.erase(tid); }
    void detach_at_first_stop(pid_t child) { late_children_.insert(child); }
    void adopt(Process& process, pid_t tid);

    // Waiting. collect() takes one report of the kernel; false: none came.
    bool collect(Wait wait);
    Waited wait_for_stop(AddressSpace& space, pid_t tid, WaitStatus& status);
    pid_t wait_for(pid_t tid, WaitStatus& status, int flags = 0); // like waitpid(2)
    // From now on a report is looked at before it is taken (StopHandler::secure_hit()).
    void secure_hits() { secures_hits_ = true; }
    bool stop_one(Thread& thread);           // false: it ended, or did not stop in time
    bool take_raised_signal(Thread& thread); // false: it ended

    // Stopped threads whose stops are to be handled, in the order of their stops.
    bool any_ready() const { return !ready_.empty(); }
    void add_ready(pid_t tid) { ready_.push_back(tid); }
    void handle_ready();
    void pass_signals(); // while something is under way: only those of the program

    // Calls of the handler.
    void go_on(Thread& thread, int signal = 0) { handler_.go_on(thread, signal); }
    void handle_stop(Thread& thread) { handler_.handle_stop(thread); }
    void handle_alarms() { handler_.handle_alarms(); }

    // Deadlines.
    void begin_turn() { ++turn_; } // of the agent's loop (wait_budget.hpp)
    std::uint64_t turn() const { return turn_; }
    bool is_overdue(AddressSpace& space, pid_t tid);
    std::uint64_t exec_patience_ns(pid_t of) const;
    void leave_late(Thread& thread, const char* why);
    void give_up(AddressSpace& space, const char* why);
    // Returns the owner of an address space that was given up, and the reason.
    std::optional<std::pair<pid_t, std::string>> take_given_up();

private:
    friend class StoppedWorld;

    void note_stop(pid_t tid, WaitStatus status);
    bool stop_all(AddressSpace& space, Try which);
    void release_all(AddressSpace& space);
    bool cannot_run(const Thread& thread) const;
    void finish_call(Thread& thread);

    ClientLink& client_;
    StopHandler& handler_;
    Processes processes_;
    Threads threads_;
    Thread* last_ = nullptr; // of the last report
    std::unordered_map<pid_t, WaitStatus> early_stops_;
    std::set<pid_t> late_children_; // detached at their first stop
    std::deque<pid_t> ready_;
    std::deque<std::pair<pid_t, std::string>> given_up_;
    std::uint64_t turn_ = 0;
    bool secures_hits_ = false;
};

int look_in_ms(
    const AddressSpace& space); // until a wait for its threads is to look again

// All threads that share an address space stand still while this exists. Taken once at
// a time. Destruction lets those go on that are not held otherwise.
class StoppedWorld {
public:
    StoppedWorld(Tracees& tracees, std::shared_ptr<AddressSpace> space,
                 Try which = Try::last);
    ~StoppedWorld();
    StoppedWorld(const StoppedWorld&) = delete;
    StoppedWorld& operator=(const StoppedWorld&) = delete;

    AddressSpace& space() const { return *space_; }
    // One that can run a system call for us; null when there is none.
    Thread* any_thread() const;
    bool in_time() const { return in_time_; } // no thread was late

private:
    Tracees& tracees_;
    std::shared_ptr<AddressSpace> space_;
    bool in_time_;
};

} // namespace dt::agent
