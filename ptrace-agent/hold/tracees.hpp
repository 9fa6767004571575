// SPDX-License-Identifier: MIT
// The processes and threads that the agent traces, and the waits for them.
//
//   waitpid() ──> Tracees: thread and its state ──> StopHandler: meaning of the stop
//
// Tracees knows whether a thread runs or is stopped. The agent implements StopHandler
// and decides what a stop means. Files:
// - tracees.cpp: the tables, and the kernel's reports
// - stop_world.cpp: stops and resumes all threads of an address space
// - deadlines.cpp: waits that have a deadline
//
// A call to the handler may remove any Thread object. So callers look up each thread
// again afterwards.
#pragma once

#include "ptrace-agent/hold/target.hpp"
#include "ptrace-agent/sessions.hpp"

#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dt::agent {

// With Try::last, the agent gives up on a target that has late threads. With
// Try::again, the caller tries again.
enum class Try { again, last };
enum class Wait { block, poll, a_while }; // a_while: 20 ms
enum class Waited { stopped, ended, late };

class StopHandler {
public:
    virtual ~StopHandler() = default;
    // Called before waitpid() takes the report of a SIGTRAP from the kernel. The
    // handler prepares the thread for the case that the agent dies
    // (HitHandler::secure()).
    virtual void secure_hit(Thread& thread) = 0;
    // Handles a stop of a thread whose injected system call did not return in time. If
    // the stop belongs to the call, resumes the thread and returns false.
    virtual bool end_late_call(Thread& thread) = 0;
    // Ends the trap or single-step of a stopped thread. Called before the text may
    // change.
    virtual void settle(Thread& thread) = 0;
    virtual void handle_stop(Thread& thread) = 0;
    // Returns whether the stop has nothing to do with tracing, so that it can be
    // handled at any time.
    virtual bool is_simple(const Thread& thread) const = 0;
    virtual void handle_new_task(Thread& parent) = 0;
    virtual void handle_vfork_done(Thread& parent) = 0;
    virtual void handle_exec(Thread& thread) = 0;
    // Handles the first stop of a task that its parent did not report.
    virtual void handle_unannounced(pid_t tid) = 0;
    virtual void go_on(Thread& thread, int signal) = 0;
    virtual void handle_alarms() = 0; // does the periodic work that is due
    virtual void take_sample(Thread& thread) = 0;
    // Attaches again if the agent is away from this memory (attendance.hpp). Returns
    // whether its threads are traced now.
    virtual bool attend(const std::shared_ptr<AddressSpace>& space) = 0;
    // Called when a thread is about to make a system call for which the agent must
    // detach (plant/tracer_calls.hpp). `second` is the call's second argument. May hold
    // the thread (Thread::awaits_tracer).
    virtual void await_tracer(Thread& thread, std::uint64_t number,
                              std::uint64_t second) = 0;
    // Called after a process has forked a child with its own memory.
    virtual void has_forked(AddressSpace& space) = 0;
    // Called before the threads of a stopped world are resumed.
    virtual void before_release(AddressSpace& space) = 0;
    virtual void thread_added(pid_t tid) = 0;
    virtual void process_ended(const Process& process, WaitStatus status) = 0;
};

class Tracees {
public:
    using Processes = std::unordered_map<pid_t, std::unique_ptr<Process>>;
    using Threads = std::unordered_map<pid_t, Thread*>;

    Tracees(Sessions& sessions, StopHandler& handler)
        : sessions_(sessions), handler_(handler)
    {
    }

    Sessions& sessions() const { return sessions_; }
    // Reports an error to the sessions that trace the process. If no session traces it,
    // the current session or else all sessions get the report.
    void report(pid_t pid, std::string text);

    const Processes& processes() const { return processes_; }
    const Threads& threads() const { return threads_; }
    Process* find_process(pid_t pid) const;
    // Returns the process if the current session traces it. The error message starts
    // with `doing`.
    Result<Process*> find_target(pid_t pid, const char* doing) const;
    Thread* find_thread(pid_t tid);
    std::vector<Thread*> threads_in(const AddressSpace& space) const;
    // Returns the ids of the threads. A loop uses these ids if its calls may end
    // threads.
    std::vector<pid_t> tids_in(const AddressSpace& space) const;
    // Returns another process that runs in the thread's memory, for example a vfork
    // child. Prefers targets. Returns 0 if there is no such process.
    pid_t guest_of(const Thread& thread) const;
    Process& add_process(pid_t pid, std::shared_ptr<AddressSpace> space);
    Thread& add_thread(Process& process, pid_t tid);
    // Removes a thread that has exited. If it was the last thread of its process,
    // removes the process, too.
    void drop_thread(Thread& thread, WaitStatus status);
    void remove_thread(Thread& thread); // after it was detached
    void forget_thread(Thread& thread); // keeps the process, even without threads
    void remove_process(pid_t pid);
    // Removes a process that has exited while the agent was away from it.
    void end_process(pid_t pid, WaitStatus status);
    // Removes the records of the processes in an address space without traced threads.
    void remove_untraced(const AddressSpace& space);
    void end_untraced(pid_t pid, WaitStatus status);
    // Removes the other threads of the process, after this thread has executed a
    // program.
    void remove_others(Thread& thread);

    // New tasks that stopped before their parent reported them.
    const std::unordered_map<pid_t, WaitStatus>& early_stops() const
    {
        return early_stops_;
    }
    void keep_early_stop(pid_t tid, WaitStatus status) { early_stops_[tid] = status; }
    void drop_early_stop(pid_t tid) { early_stops_.erase(tid); }
    void detach_at_first_stop(pid_t child) { late_children_.insert(child); }
    // Adds a new thread to a process. Its stop in early_stops() becomes pending.
    void adopt(Process& process, pid_t tid);

    // Takes one report from the kernel. Returns false if no report was available.
    bool collect(Wait wait);
    // Waits until one thread stops or ends, or until the time for this address space
    // (space.budget) is over.
    Waited wait_for_stop(AddressSpace& space, pid_t tid, WaitStatus& status);
    pid_t wait_for(pid_t tid, WaitStatus& status, int flags = 0); // like waitpid(2)
    // Enables the calls to StopHandler::secure_hit().
    void secure_hits() { secures_hits_ = true; }
    // Stops a running thread. If it stops for a reason other than our interrupt, that
    // stop becomes pending. Returns false if the thread ended or did not stop in time.
    bool stop_one(Thread& thread);
    // If an instruction of an interrupted thread has raised a signal, continues the
    // thread until the signal is reported. Returns false if the thread ended or did not
    // stop in time.
    bool take_raised_signal(Thread& thread);

    // The queue of threads with a pending stop, in the order of their stops.
    bool any_ready() const { return !ready_.empty(); }
    void add_ready(pid_t tid) { ready_.push_back(tid); }
    void handle_ready();
    // Handles only the pending stops for which is_simple() is true. Called during a
    // long operation.
    void pass_signals();

    void go_on(Thread& thread, int signal = 0) { handler_.go_on(thread, signal); }
    void handle_stop(Thread& thread) { handler_.handle_stop(thread); }
    void handle_alarms() { handler_.handle_alarms(); }
    bool attend(const std::shared_ptr<AddressSpace>& space)
    {
        return handler_.attend(space);
    }
    void await_tracer(Thread& thread, std::uint64_t number, std::uint64_t second)
    {
        handler_.await_tracer(thread, number, second);
    }
    void has_forked(AddressSpace& space) { handler_.has_forked(space); }

    // Deadlines (deadlines.cpp).
    void begin_turn() { ++turn_; }
    std::uint64_t turn() const { return turn_; }
    // Returns whether a thread that has not stopped is late (deadlines.cpp).
    bool is_overdue(AddressSpace& space, pid_t tid);
    std::uint64_t exec_timeout_ns(pid_t of) const;
    // `why` is the reason. Releaser::release_given_up() reports it to the user as part
    // of a sentence.
    void leave_late(Thread& thread, const char* why);
    void give_up(AddressSpace& space, const char* why);
    // Makes the main loop release the processes in an address space without targets.
    void abandon(std::shared_ptr<AddressSpace> space);
    std::shared_ptr<AddressSpace> take_abandoned();
    // Returns the owner of an address space that was given up, and the reason.
    std::optional<std::pair<pid_t, std::string>> take_given_up();

private:
    friend class StoppedWorld;

    void note_stop(pid_t tid, WaitStatus status);
    bool stop_all(AddressSpace& space, Try which);
    void release_all(AddressSpace& space);
    bool cannot_run(const Thread& thread) const;
    void finish_call(Thread& thread);

    Sessions& sessions_;
    StopHandler& handler_;
    Processes processes_;
    Threads threads_;
    Thread* last_ = nullptr; // the thread that find_thread() found last
    std::unordered_map<pid_t, WaitStatus> early_stops_;
    std::set<pid_t> late_children_; // detached at their first stop
    std::deque<pid_t> ready_;
    std::deque<std::pair<pid_t, std::string>> given_up_;
    std::deque<std::shared_ptr<AddressSpace>> abandoned_;
    std::uint64_t turn_ = 0;
    bool secures_hits_ = false;
};

int look_in_ms(const AddressSpace& space);

// Keeps all threads of an address space stopped while the object exists. At most one
// such object may exist at a time. The destructor resumes the threads that are not held
// for another reason.
class StoppedWorld {
public:
    StoppedWorld(Tracees& tracees, std::shared_ptr<AddressSpace> space,
                 Try which = Try::last);
    ~StoppedWorld();
    StoppedWorld(const StoppedWorld&) = delete;
    StoppedWorld& operator=(const StoppedWorld&) = delete;

    AddressSpace& space() const { return *space_; }
    // Returns a thread in which a system call can be injected, or null.
    Thread* any_thread() const;
    bool in_time() const { return in_time_; } // false if a thread missed the deadline

private:
    Tracees& tracees_;
    std::shared_ptr<AddressSpace> space_;
    bool in_time_;
};

} // namespace dt::agent
