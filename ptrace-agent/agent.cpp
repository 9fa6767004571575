// SPDX-License-Identifier: MIT
// The agent's main loop. Handles the requests of the client (the consumer). stops.cpp
// handles the stops of threads.
#include "ptrace-agent/agent.hpp"

#include "base/clock_ns.hpp"
#include "base/seccomp_filter.hpp"
#include "process/trust_domain.hpp"
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/confine/relayed_calls.hpp"
#include "ptrace-agent/hold/guests.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/unwind.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <malloc.h>
#include <set>
#include <sys/prctl.h>
#include <unistd.h>

namespace dt::agent {

void run_agent(Fd socket)
{
    // The agent must outlive the consumer, so it ignores these signals and has its own
    // process group. It stays in the consumer's session, because the commands that it
    // starts must be able to join the consumer's process group.
    for (int signal : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU,
                       SIGUSR1, SIGUSR2})
        ::signal(signal, SIG_IGN);
    // SA_NOCLDSTOP prevents a SIGCHLD at each stop of a traced thread.
    struct sigaction quiet = {};
    quiet.sa_handler = SIG_DFL;
    quiet.sa_flags = SA_NOCLDSTOP;
    sigaction(SIGCHLD, &quiet, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setpgid(0, 0);
    // By default, malloc(3) remaps a large array each time it grows or is freed.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    // `pkill -9 dtrace` must not match the agent's name.
    prctl(PR_SET_NAME, "ptrace-agent");
    // Descriptors 0, 1 and 2 are kept for the commands that the agent starts.
    int own = fcntl(socket.get(), F_DUPFD_CLOEXEC, 3);
    if (own != 3 && own >= 0) {
        dup3(own, 3, O_CLOEXEC);
        close(own);
    }
    socket.release();
    close_range(4, ~0u, 0);
    Agent(Fd(3)).run();
    end_rule_reader();
}

void Agent::run()
{
    while (!sessions_.all_exited()) {
        tracees_.begin_turn();
        if (releaser_.release_given_up() || releaser_.release_abandoned()) {
            continue;
        } else if (sessions_.rang()) {
            serve_clients();
            handle_alarms();
            closer_.unmap_left_if_due();
            attendance_.work();
            uprobe_watch_.compare_if_due();
        } else if (tracees_.any_ready()) {
            tracees_.handle_ready();
        } else if (sampler_.sample_some()) {
            continue;
        } else if (planter_.prefault().has_more()) {
            planter_.prefault().fault_in_some();
            tracees_.collect(Wait::poll);
        } else {
            tracees_.collect(Wait::block);
        }
    }
    // A client that connects now must not wait for this agent.
    door_.close();
    releaser_.release_everything();
    settle_calls(); // otherwise the broker would exit before it has made them
}

void Agent::handle_alarms()
{
    sampler_.begin_tick_if_due();
    client_wait_.release_overdue();
    runtime_exit_.retry_full_queues();
    upcalls_.serve_all();
}

void Agent::serve_clients()
{
    admit_clients();
    sessions_.receive();
    end_exited();
    // One request of each session is served at a time, so that no client can keep the
    // agent from serving the threads and the other clients.
    bool any_left = false;
    for (std::size_t i = 0; i < sessions_.all().size(); i++) {
        serve(*sessions_.all()[i]);
        any_left = any_left || sessions_.all()[i]->client.has_next();
    }
    end_exited();
    if (any_left)
        sessions_.ring_again();
    if (tracees_.any_ready())
        tracees_.handle_ready();
}

// Ends the sessions after their clients have exited, except the last one.
void Agent::end_exited()
{
    while (AgentSession* ended =
               sessions_.all_exited() ? nullptr : sessions_.first_exited())
        end_session(*ended);
}

// Returns whether a process may begin a session. Its user and its process id are from
// the kernel.
//
//   agent               full rights                   guest (hold/guests.hpp)
//   root's, confined    root (*)                      the trust domain of the targets
//   root's              root's trust domain           none
//   of another user     root (*), the trust domain    none
//                       of the agent's client
//
//   (*) if it can control every process. These agents may not examine its trust domain.
Agent::Admission Agent::admission_of(const Door::Caller& caller) const
{
    if (caller.user == 0 && (is_confined() || door_.owner() != 0) &&
        is_privileged(caller.pid))
        return Admission::full;
    if (is_confined())
        return caller.user != 0 && sessions_.n_guests() < max_guests &&
                       is_in_confined_domain(caller.pid)
                   ? Admission::guest
                   : Admission::none;
    const auto domain =
        caller.user == door_.owner() ? trust_domain_of(caller.pid) : std::nullopt;
    return domain && domain == domain_ ? Admission::full : Admission::none;
}

// Begins a session for each client that has knocked at the door.
void Agent::admit_clients()
{
    for (Door::Caller& caller : door_.take()) {
        const Admission admission = admission_of(caller);
        if (admission == Admission::none)
            continue;
        SessionSet taken;
        for (auto& [pid, process] : tracees_.processes())
            for (const auto& [session, memory] : process->space->runtime.sessions())
                taken.set(session);
        if (admission == Admission::guest)
            sessions_.add(ClientLink(std::move(caller.socket), max_guest_bytes), taken,
                          caller.pid);
        else
            sessions_.add(ClientLink(std::move(caller.socket)), taken);
    }
}

void Agent::serve(AgentSession& session)
{
    auto request = session.client.next();
    if (!request)
        return;
    sessions_.set_current(&session);
    const bool was_silent = client_wait_.begin_request();
    Reply reply = answer(*request);
    client_wait_.end_request();
    if (was_silent)
        client_wait_.report_held_back();
    sessions_.set_current(nullptr);
    settle_calls(); // the client may examine the target after the reply
    if (reply) {
        session.client.reply(reply_ok, *reply);
        return;
    }
    const Error& error = reply.error();
    Writer out;
    out.put(error.code).put(error.sys).text(error.text);
    session.client.reply(reply_error, out.body());
}

// The session of the client that has started the agent.
constexpr unsigned starters_session = 0;

// Ends a session after its client has exited, while other sessions continue.
void Agent::end_session(AgentSession& session)
{
    (void)sampler_.start(session.number, {});
    closer_.end_session(session.number);
    release_answered();
    // A reader of that client's output would otherwise wait until the agent exits.
    if (session.number == starters_session && !is_confined())
        close_standard_descriptors();
    settle_calls(); // the client may exit after the goodbye
    constexpr int longest_ms = 200;
    session.client.say_goodbye(session.is_guest() ? 0 : longest_ms);
    sessions_.remove(session.number);
}

// Resumes the threads that waited only for sessions that no longer trace them.
void Agent::release_answered()
{
    std::vector<pid_t> pids; // collected first, because threads may end
    for (auto& [pid, process] : tracees_.processes())
        pids.push_back(pid);
    for (pid_t pid : pids)
        if (Process* process = tracees_.find_process(pid))
            client_wait_.release_answered(*process);
}

// Most requests need all threads of a target. Only the requests that end the tracing of
// a target can be served while another tracer holds the target.
Reply Agent::answer(const Request& request)
{
    if (auto attached = attendance_.begin_request(request);
        !attached && request.word != request_detach && request.word != request_kill)
        return attached.error();
    Reply reply = answer_attached(request);
    attendance_.end_request();
    return reply;
}

Reply Agent::answer_attached(const Request& request)
{
    Reader in(request.body);
    if (const AgentSession& session = sessions_.current(); session.is_guest())
        if (auto may = check_guest(request, tracees_, limit_, session.guest_pid); !may)
            return may.error();
    switch (request.word) {
    case request_set_arena:
        return set_arena(in, request.fds);
    case request_expect:
        return planter_.expect(in);
    case request_create:
        return launcher_.create(in);
    case request_grab:
        return grabber_.grab(in);
    case request_plan:
        return planter_.plan(in, request.fds);
    case request_plant: {
        Reply reply = planter_.plant(in, request.fds);
        uprobe_watch_.begin();
        return reply;
    }
    case request_remove:
        return planter_.remove(in, request.fds);
    case request_resume:
        return resume(in);
    case request_resume_libraries:
        return resume_libraries(in);
    case request_detach:
        return detach(in);
    case request_kill:
        return releaser_.kill_target(in);
    case request_profile:
        return profile(in);
    case request_follow:
        return follower_.set_follow(in);
    case request_calls:
        return set_call_probes(in);
    case request_tasks:
        return task_events_.set_probes(in);
    case request_confine:
        return confine_agent(in);
    case request_put_back:
        return grabber_.put_back(in);
    case request_release:
        return attendance_.set_release(in);
    default:
        return Error{Code::unsupported,
                     "the ptrace-agent does not support this request"};
    }
}

Reply Agent::set_arena(Reader& in, const std::vector<Fd>& fds)
{
    auto program_bytes = in.get<std::uint64_t>();
    auto data_bytes = in.get<std::uint64_t>();
    auto private_bytes = in.get<std::uint64_t>();
    if (!in.ok() || fds.size() != (private_bytes != 0 ? 3 : 2))
        return Error{Code::invalid, "map the arena: each part needs a descriptor"};
    // The runtime writes to the arena that was mapped when the session's probes were
    // planted. So the session's probes are first removed from the targets that map the
    // previous arena.
    AgentSession& session = sessions_.current();
    closer_.leave_arena(session.number);
    if (auto mapped =
            session.arena.map(fds[0].get(), program_bytes, fds[1].get(), data_bytes,
                              private_bytes != 0 ? fds[2].get() : -1, private_bytes);
        !mapped)
        return mapped.error();
    return Body{};
}

Reply Agent::confine_agent(Reader& in)
{
    const TrustDomain domain = get_domain(in);
    if (!in.ok())
        return Error{Code::invalid, "confine the ptrace-agent: no trust domain"};
    if (sessions_.all().size() != 1 || !tracees_.processes().empty())
        return Error{Code::busy, "confine the ptrace-agent: it is already in use"};
    auto broker = confine(domain);
    if (!broker)
        return broker.error().during("confine the ptrace-agent");
    limit_ = domain;
    return Writer().put(*broker).body();
}

Reply Agent::resume(Reader& in)
{
    auto process = tracees_.find_target(in.get<pid_t>(), "resume");
    if (!process)
        return process.error();
    Process& p = **process;
    if (p.started || p.creator != sessions_.current().number)
        return Body{};
    p.started = true;
    if (!p.any(&Interest::planted, true))
        linker_.forget(*p.space);
    let_run(p);
    return Body{};
}

void Agent::let_run(Process& process)
{
    for (Thread* thread : tracees_.threads_in(*process.space))
        thread->inside_exec = false;
    client_wait_.release_all(process);
}

Reply Agent::detach(Reader& in)
{
    const auto pid = Reader(in).get<pid_t>();
    const Process* before = tracees_.find_process(pid);
    const bool was_held = before != nullptr && !before->started;
    Reply reply = closer_.detach(in);
    // If other sessions trace the command, it is not released, but must run.
    if (Process* process = tracees_.find_process(pid);
        was_held && process != nullptr && process->started && process->is_target())
        let_run(*process);
    release_answered();
    return reply;
}

Reply Agent::resume_libraries(Reader& in)
{
    auto process = tracees_.find_target(in.get<pid_t>(), "handle a library change in");
    auto change = in.get<int>();
    if (!process)
        return process.error();
    if (!in.ok() || change < 0 || change > (*process)->library_changes)
        return Error{Code::invalid,
                     "handle a library change: no such change was reported"};
    int& answered = (*process)->interests[sessions_.current().number].answered_change;
    answered = std::max(answered, change);
    if ((*process)->started)
        client_wait_.release_answered(**process);
    return Body{};
}

Reply Agent::set_call_probes(Reader& in)
{
    const auto probes = in.get<CallProbes>();
    if (!in.ok())
        return Error{Code::invalid, "trace system calls: the request is truncated"};
    sessions_.current().call_probes = probes;
    std::set<AddressSpace*> spaces;
    for (const auto& [pid, process] : tracees_.processes())
        if (spaces.insert(process->space.get()).second)
            jumps_.update_calls(*process->space);
    return Body{};
}

Reply Agent::profile(Reader& in)
{
    auto n = in.get<std::uint32_t>();
    auto timers = in.array<ProfileTimer>(n);
    if (!in.ok())
        return Error{Code::invalid, "profile: the request is truncated"};
    if (sessions_.current().is_guest() && timers.size() > max_guest_timers)
        return Error{Code::limit, "profile: too many timers"};
    auto left_out = sampler_.start(sessions_.current().number, timers);
    if (!left_out)
        return left_out.error();
    return Writer().text(*left_out).body();
}

void Agent::before_release(AddressSpace& space)
{
    if (!injector_.is_stub_in_use(space))
        space.call_place.remove_stub(space); // an injected call may have written a stub
}

void Agent::process_ended(const Process& process, WaitStatus status)
{
    ended_ = process.space;
    rseq_.allow(*ended_);
    // The pid of the owner may be reused while a guest still uses the memory.
    if (process.pid == ended_->owner())
        for (auto& [pid, other] : tracees_.processes())
            if (other->space == ended_ && pid != process.pid) {
                ended_->hand_over(pid);
                break;
            }
    std::vector<pid_t> unannounced;
    for (auto& [orphan, stop] : tracees_.early_stops())
        unannounced.push_back(orphan);
    for (pid_t orphan : unannounced)
        handle_unannounced(orphan);
    if (process.no_events)
        return;
    AgentEvent event;
    event.kind = AgentEvent::exited;
    event.pid = process.pid;
    event.status = status.raw;
    sessions_.send_event(process.sessions(), event);
}

} // namespace dt::agent
