// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/grabber.hpp"

#include "base/pidfd.hpp"
#include "ptrace-agent/hold/refusals.hpp"
#include "ptrace-agent/hold/seize.hpp"

#include "base/clock_ns.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "process/regular_file.hpp"
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <memory>
#include <optional>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

// Removes the record of a leader that another thread has replaced by execve(2). The
// kernel does not report the exit of such a leader, and gives its tid to the other thread.
static void forget_replaced_leader(Tracees& tracees, Process& process)
{
    const pid_t pid = process.pid;
    Thread* leader = tracees.find_thread(pid);
    if (leader == nullptr || leader->process != &process || leader->is_stopped() ||
        is_traced(pid, pid))
        return;
    tracees.forget_thread(*leader);
}

// Attaches to the threads that are in the kernel's list and are not traced yet.
Result<Grabber::Pass> Grabber::seize_listed(Process& process, std::uint64_t ends)
{
    const pid_t pid = process.pid;
    Pass pass = Pass::found_none;
    for (bool more = true; more;) {
        if (ends != 0 && monotonic_ns() >= ends)
            return Pass::late;
        const std::vector<SeizeResult> results = seize_threads(pid, [&](pid_t tid) {
            return process.threads.count(tid) != 0 ||
                   tracees_.early_stops().count(tid) != 0;
        });
        more = false;
        for (const auto& [tid, error] : results) {
            if (error == EINTR) // a thread waits in execve(2) for those seized so far
                return Pass::interrupted;
            if (error == 0) {
                tracees_.add_thread(process, tid).age = ThreadAge::known;
                pass = Pass::found_some;
                more = results.size() == max_attached;
                continue;
            }
            if (const char state = error == ESRCH ? 'X' : thread_state(pid, tid);
                state == 'X' || state == 'Z' || state == '\0') {
                if (tid != pid) // an exited leader remains in the list
                    pass = Pass::found_some;
                continue;
            }
            return explain_refusal(pid, error);
        }
    }
    return pass;
}

static Error late_threads()
{
    return {Code::late, "it creates threads faster than dtrace can attach to them; "
                        "nothing in the process was changed"};
}

static Error late_exec(std::uint64_t timeout_ns)
{
    return {Code::late, "its exec did not finish within " +
                            std::to_string(timeout_ns / 1'000'000'000) +
                            " s; nothing in the process was changed, so try again"};
}

// Repeats passes over the list of threads until a pass finds no new thread. This is
// necessary because a thread may create another thread and exit before it is seized.
// The first pass has no deadline, because there may be many threads. Later passes are
// short unless the process keeps creating threads.
Result<Ok> Grabber::seize_all(Process& process, std::uint64_t& ends)
{
    const pid_t pid = process.pid;
    bool interrupted = false;
    Result<Pass> pass = Pass::found_some;
    while (*pass != Pass::found_none) {
        pass = seize_listed(process, ends);
        if (!pass)
            return pass.error();
        if (*pass == Pass::late)
            return interrupted ? late_exec(tracees_.exec_timeout_ns(pid))
                               : late_threads();
        if (*pass == Pass::interrupted && !interrupted) {
            interrupted = true;
            ends = monotonic_ns() + tracees_.exec_timeout_ns(pid);
        }
        while (tracees_.collect(Wait::poll)) {
        }
        if (tracees_.find_process(pid) == nullptr) // `process` is destroyed
            return Error{Code::not_found, "it exited during the attempt"};
        if (interrupted)
            forget_replaced_leader(tracees_, process);
        if (ends == 0)
            ends = monotonic_ns() + stop_timeout_ns;
    }
    if (process.threads.empty())
        return Error{Code::not_found, "no such process", ESRCH};
    return Ok{};
}

// Returns whether the thread waits in the kernel for a vfork child that has neither
// executed a program nor exited.
static bool waits_for_vfork(AddressSpace& space, const Thread& thread)
{
    const pid_t pid = thread.process->pid;
    const auto call = blocked_call(pid, thread.tid);
    if (!call || thread_state(pid, thread.tid) != 'D')
        return false;
    std::uint64_t flags = call->first;
    switch (call->number) {
    case SYS_vfork:
        return true;
    case SYS_clone3: // the argument points to a structure that begins with the flags
        return space.read_value(TargetAddr{call->first}, flags) &&
               (flags & CLONE_VFORK) != 0;
    case SYS_clone:
        return (flags & CLONE_VFORK) != 0;
    default:
        return false;
    }
}

// Returns the fields of /proc/PID/stat that describe a process's memory. Processes that
// share their memory have equal fields.
static std::string memory_layout(pid_t pid)
{
    constexpr int start_code = 26, start_stack = 28, start_data = 45, env_end = 51;
    const std::string stat = read_proc_file(pid, "stat");
    std::string layout;
    for (int field = start_code; field < env_end; ++field)
        if (field <= start_stack || field >= start_data)
            layout += std::to_string(stat_number(stat, field)) + " ";
    return layout;
}

// A process never begins to share the memory of an existing one, except when it is
// created. So only the layouts of new processes are read, and that of the target's
// parent, which may have executed a program before it created the target.
std::vector<pid_t> Grabber::with_layout(pid_t target)
{
    const std::string layout = memory_layout(target);
    layouts_.erase(
        static_cast<pid_t>(status_number(read_proc_file(target, "status"), "PPid")));
    std::unordered_map<pid_t, std::string> now;
    std::vector<pid_t> found;
    for (pid_t pid : pids_in_proc()) {
        auto known = layouts_.find(pid);
        std::string& its =
            now.emplace(pid, known != layouts_.end() ? std::move(known->second)
                                                     : memory_layout(pid))
                .first->second;
        if (its == layout)
            found.push_back(pid);
    }
    layouts_ = std::move(now);
    return found;
}

Result<bool> Grabber::seize_guests(pid_t target, std::set<pid_t>& known)
{
    bool any = false;
    std::uint64_t ends = monotonic_ns() + stop_timeout_ns;
    for (bool found_new = true; found_new;) {
        found_new = false;
        const Process* owner = tracees_.find_process(target);
        if (owner == nullptr)
            return Error{Code::not_found, "it exited during the attempt"};
        const std::shared_ptr<AddressSpace> space = owner->space;
        const pid_t tid = space->proc_tid();
        // kcmp(2) waits while a process is inside execve(2), so it is called only for
        // processes that are likely to share the memory.
        for (pid_t pid : with_layout(tid)) {
            if (tracees_.find_process(pid) != nullptr || known.count(pid) != 0)
                continue;
            // A thread that has exited has no memory, like the kernel's own threads.
            // These have no executable.
            if (!share_memory(tid, pid).value_or(false) ||
                read_proc_link(pid, "exe").empty()) {
                known.insert(pid);
                continue;
            }
            if (pid == getpid() || pid == getppid())
                return Error{Code::permission, "it shares the memory of dtrace"};
            Process& guest = tracees_.add_process(pid, space);
            guest.parent = target;
            guest.is_old_guest = true;
            auto seized = seize_all(guest, ends);
            Process* left = tracees_.find_process(pid);
            if (left != nullptr && left->threads.empty())
                tracees_.remove_process(pid);
            if (!seized && seized.error().code != Code::not_found)
                return Error{seized.error().code,
                             "process " + std::to_string(pid) +
                                 " shares its memory, and would be killed by dtrace's "
                                 "breakpoints because dtrace cannot trace it: " +
                                 seized.error().text,
                             seized.error().sys};
            found_new = found_new || seized;
        }
        if (found_new)
            for (Thread* thread : tracees_.threads_in(*space))
                thread->in_vfork = thread->in_vfork || waits_for_vfork(*space, *thread);
        any = any || found_new;
    }
    return any;
}

// A thread that is seized inside clone(2) may still create an untraced thread. So this
// function is called after all threads have stopped. The kernel's list of threads may
// end early if a thread exits, so the number of threads is compared as well.
bool Grabber::has_missed_thread(const Process& process)
{
    const std::vector<pid_t> all = threads_of(process.pid);
    const std::uint64_t n =
        status_number(read_proc_file(process.pid, "status"), "Threads");
    return n > all.size() || std::any_of(all.begin(), all.end(), [&](pid_t tid) {
               return tid != process.pid && process.threads.count(tid) == 0 &&
                      tracees_.early_stops().count(tid) == 0 &&
                      !is_traced(process.pid, tid);
           });
}

std::vector<pid_t> Grabber::members_of(const AddressSpace& space) const
{
    std::vector<pid_t> members;
    for (const auto& [pid, process] : tracees_.processes())
        if (process->space.get() == &space)
            members.push_back(pid);
    return members;
}

// Returns whether the process has exited and has been reaped. Its pid may now belong to
// another process.
static bool has_ended(const Fd& process)
{
    return process &&
           syscall(SYS_pidfd_send_signal, process.get(), 0, nullptr, 0) != 0 &&
           errno == ESRCH;
}

// A thread can be seized inside execve(2), when its new memory is only partly mapped.
// The client wants to trace the new program, so this exec is not reported to the
// client.
bool Grabber::await_exec(const AddressSpace& space)
{
    for (Thread* thread : tracees_.threads_in(space)) {
        if (thread->is_pending() && thread->event() == PTRACE_EVENT_EXEC) {
            thread->move_to(ThreadState::handled);
            follower_.begin_program(*thread);
            tracees_.go_on(*thread);
            return true;
        }
        if (!thread->is_stopped() && is_in_exec(thread->process->pid, thread->tid)) {
            tracees_.collect(Wait::a_while);
            return true;
        }
    }
    return false;
}

void Grabber::learn_signals(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    for (Thread* thread : tracees_.threads_in(space)) {
        if (thread->is_stopped())
            TrapMask::learn(*thread);
    }
    if (Thread* thread = world.any_thread())
        trap_signals_.learn_action(*thread->process, *thread);
    // Any of the guests may exit during the call.
    for (pid_t tid : tracees_.tids_in(space)) {
        Thread* thread = tracees_.find_thread(tid);
        if (thread != nullptr && thread->process->is_guest() &&
            !thread->process->trap_action.known && thread->is_stopped() &&
            !thread->in_vfork && thread->event() == PTRACE_EVENT_STOP)
            trap_signals_.learn_action(*thread->process, *thread);
    }
}

Reply Grabber::grab(Reader& in)
{
    constexpr int max_tries = 16;
    const auto pid = in.get<pid_t>();
    const Fd requested = open_pidfd(pid);
    // All threads that were seized may exit while the process creates new ones.
    for (int n_tries = 1;; ++n_tries) {
        Reply reply = grab_once(pid, requested);
        if (reply || reply.error().code != Code::not_found || !requested ||
            has_ended(requested) || n_tries == max_tries)
            return reply;
    }
}

Reply Grabber::grab_once(pid_t pid, const Fd& requested)
{
    std::string doing = "grab process " + std::to_string(pid);
    const unsigned session = tracees_.sessions().current().number;
    std::map<unsigned, Interest> others; // of sessions that traced its earlier program
    if (Process* known = tracees_.find_process(pid)) {
        if (known->no_events)
            return Error{Code::busy, doing + ": it is being released; try again"};
        if (known->space->presence == Presence::dormant) {
            others = std::move(known->interests);
            tracees_.remove_process(pid);
        }
    }
    if (Process* known = tracees_.find_process(pid)) {
        const bool is_of_session =
            std::ranges::any_of(tracees_.processes(), [&](const auto& each) {
                const Process& process = *each.second;
                return process.space == known->space &&
                       process.interests.count(session) != 0;
            });
        known->interests[session];
        known->is_old_guest = false;
        return Writer()
            .put(known->n_execs)
            .put(is_of_session ? TracedBefore::for_session : TracedBefore::for_others)
            .body();
    }
    if (auto ok = check_grabbable(pid); !ok)
        return ok.error().during(doing);
    Process& process =
        tracees_.add_process(pid, std::make_shared<AddressSpace>(pid, table_));
    process.interests = std::move(others);
    process.interests[session];
    const std::shared_ptr<AddressSpace> held = process.space;
    std::set<pid_t> no_guests; // processes that do not share the memory
    std::uint64_t seize_ends = 0;
    auto seized = seize_all(process, seize_ends);
    // If the process executed a program before it was seized, no event reported the
    // exec.
    if (seized)
        process.space->reopen();
    if (seized) {
        if (auto guests = seize_guests(pid, no_guests); !guests)
            seized = guests.error();
    }
    if (seized && has_ended(requested))
        seized =
            Error{Code::not_found, "it exited, and another process now has its pid"};
    // Detaches from the process and from the processes that share its memory.
    auto let_go = [&] {
        Process* left = tracees_.find_process(pid);
        const auto space = left != nullptr ? left->space : held;
        if (left != nullptr) {
            left->interests.clear();
            if (left->threads.empty())
                tracees_.remove_process(pid);
        }
        for (const auto& each : {space, held})
            if (!tracees_.threads_in(*each).empty())
                releaser_.release(each);
    };
    auto refused = [&]() -> Reply {
        let_go();
        return seized.error().during(doing);
    };
    if (!seized)
        return refused();
    std::unique_ptr<StoppedWorld> world;
    if (auto all = stop_seized(pid, no_guests); all)
        world = std::move(*all);
    else
        seized = all.error();
    if (!seized)
        return refused();
    learn_signals(*world);
    world->space().known_text.record_grab(world->space().proc_tid());
    return Writer().put(process.n_execs).put(TracedBefore::no).body();
}

// Stops all threads of a process that was seized, and of the processes that share its
// memory. Seizes the threads that were missed. Waits for a thread that is inside
// execve(2).
Result<std::unique_ptr<StoppedWorld>> Grabber::stop_seized(pid_t pid,
                                                           std::set<pid_t>& no_guests)
{
    constexpr std::uint64_t seize_timeout_ns = 10'000'000'000;
    const Error exited{Code::not_found, "it exited during the attempt"};
    Result<Ok> seized = Ok{};
    std::unique_ptr<StoppedWorld> stopped;
    std::shared_ptr<AddressSpace> space;
    auto seize_missed = [&] {
        Process* process = tracees_.find_process(pid);
        if (process == nullptr)
            return false;
        bool missed = false;
        std::uint64_t seize_ends = monotonic_ns() + stop_timeout_ns;
        for (pid_t member : members_of(*process->space)) {
            Process* each = tracees_.find_process(member);
            if (!seized || each == nullptr || !has_missed_thread(*each))
                continue;
            missed = true;
            seized = seize_all(*each, seize_ends);
            // A guest may exit meanwhile.
            if (!seized && member != pid && seized.error().code == Code::not_found)
                seized = Ok{};
        }
        if (tracees_.find_process(pid) == nullptr)
            return false;
        auto guests = seized ? seize_guests(pid, no_guests) : Result<bool>(false);
        if (!guests)
            seized = guests.error();
        return missed || !guests || *guests;
    };
    bool in_exec = false;
    const std::uint64_t began = monotonic_ns();
    do {
        stopped.reset();
        const Process* process = tracees_.find_process(pid);
        if (process == nullptr)
            return exited;
        if (!seized)
            return seized.error();
        // At the end of a session, the process is stopped to be released.
        Sessions& sessions = tracees_.sessions();
        const std::uint64_t timeout_ns =
            in_exec ? tracees_.exec_timeout_ns(pid) : seize_timeout_ns;
        if (monotonic_ns() - began > timeout_ns ||
            (sessions.is_serving() && sessions.check_in_wait()))
            return in_exec ? late_exec(timeout_ns) : late_threads();
        space = process->space;
        stopped = std::make_unique<StoppedWorld>(tracees_, space);
        in_exec = await_exec(*space);
    } while (in_exec || seize_missed());
    if (tracees_.find_process(pid) == nullptr)
        return exited;
    return stopped;
}

// Detaches from the threads of a process that could not be attached to again.
void Grabber::leave_again(const std::shared_ptr<AddressSpace>& space)
{
    const std::uint64_t ends = monotonic_ns() + stop_timeout_ns;
    for (auto tids = tracees_.tids_in(*space); !tids.empty() && monotonic_ns() < ends;
         tids = tracees_.tids_in(*space)) {
        Thread* thread = tracees_.find_thread(tids.front());
        if (!tracees_.stop_one(*thread))
            continue;
        const bool is_event = thread->is_pending() && thread->event() != 0;
        if (is_event) { // for example, it has created a thread
            tracees_.handle_stop(*thread);
            continue;
        }
        releaser_.detach_thread(*thread, thread->is_pending() ? thread->signal() : 0);
    }
    for (Thread* thread : tracees_.threads_in(*space))
        thread->leave();
}

Result<std::unique_ptr<StoppedWorld>> Grabber::grab_again(pid_t pid)
{
    Process& process = *tracees_.find_process(pid);
    if (const auto tracer = static_cast<pid_t>(
            status_number(read_proc_file(pid, "status"), "TracerPid")))
        return tracer == tracer_pid()
                   ? Error{Code::busy, "some of its threads are being released"}
                   : explain_refusal(pid, EPERM);
    std::set<pid_t> no_guests;
    std::uint64_t seize_ends = 0;
    auto failed = [&](const Error& error) {
        if (const Process* left = tracees_.find_process(pid))
            leave_again(left->space);
        return error;
    };
    if (auto seized = seize_all(process, seize_ends); !seized)
        return failed(seized.error());
    if (auto guests = seize_guests(pid, no_guests); !guests)
        return failed(guests.error());
    auto world = stop_seized(pid, no_guests);
    if (!world)
        return failed(world.error());
    learn_signals(**world);
    return world;
}

// Restores the text that a dead tracer has left patched, and removes the rest of what it
// has left.
Reply Grabber::put_back(Reader& in)
{
    auto process = tracees_.find_target(in.get<pid_t>(), "restore the text of");
    if (!process)
        return process.error();
    auto n_texts = in.get<std::uint32_t>();
    std::shared_ptr<AddressSpace> space = (*process)->space;
    // If another session traces the process, its probes explain the changes, and no dead
    // tracer made them.
    if ((*process)->interests.size() > 1)
        return Body{};
    StoppedWorld world(tracees_, space);
    bool restored = true;
    for (std::uint32_t i = 0; i < n_texts; ++i) {
        auto at = in.get<TargetAddr>();
        auto n = in.get<std::uint32_t>();
        std::vector<std::byte> now = in.array<std::byte>(n);
        std::vector<std::byte> before = in.array<std::byte>(n);
        std::vector<std::byte> text(n);
        if (!in.ok())
            return Error{Code::invalid, "restore text: the request is truncated"};
        if (!space->read_text(at, text) || text != now)
            restored = restored && text == before;
        else if (!space->write_text(at, before))
            return Error{Code::io, "restore the text that a killed ptrace-agent had "
                                   "patched: the text cannot be written"};
    }
    auto n_runtimes = in.get<std::uint32_t>();
    for (TargetAddr image : in.array<TargetAddr>(n_runtimes))
        lower_left(space->mem(), space->proc_tid(), image);
    const bool all_known = in.get<bool>();
    if (!in.ok())
        return Error{Code::invalid, "restore text: the request is truncated"};
    left_.remove(world, restored && all_known);
    return Body{};
}

} // namespace dt::agent
