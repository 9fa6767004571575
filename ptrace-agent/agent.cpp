// SPDX-License-Identifier: MIT
// The agent's loop, its requests, and who its threads and processes are.
#include "ptrace-agent/agent.hpp"

#include "base/clock_ns.hpp"
#include "ptrace-agent/hold/tracing.hpp"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace dt::agent {

void run_agent(Fd socket)
{
    // The terminal's signals are for the consumer and the target; we must see the end
    // of both. Our own group, so that a kill of the consumer's group spares us; the
    // same session, so that the targets that we start can return to that group.
    for (int signal : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU,
                       SIGUSR1, SIGUSR2})
        ::signal(signal, SIG_IGN);
    // Without this the kernel would send us a SIGCHLD for every hit.
    struct sigaction quiet = {};
    quiet.sa_handler = SIG_DFL;
    quiet.sa_flags = SA_NOCLDSTOP;
    sigaction(SIGCHLD, &quiet, nullptr);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    setpgid(0, 0);
    // What grows to hold a hundred thousand sites is neither mapped anew at each step nor
    // given back at each end.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    // Not a name that `pkill -9 dtrace` would match.
    prctl(PR_SET_NAME, "ptrace-agent");
    // 0, 1 and 2 stay for the targets that we start.
    int own = fcntl(socket.get(), F_DUPFD_CLOEXEC, 3);
    if (own != 3 && own >= 0) {
        dup3(own, 3, O_CLOEXEC);
        close(own);
    }
    socket.release();
    close_range(4, ~0u, 0);
    Agent(Fd(3)).run();
}

void Agent::run()
{
    while (!mail_.closed()) {
        ++turn_;
        if (!given_up_.empty()) {
            release_given_up();
        } else if (std::exchange(rang_in_wait_, false) || Mailbox::rang()) {
            serve_client();
            hear_alarms();
        } else if (!ready_.empty()) {
            handle_ready();
        } else if (sample_some()) {
            continue;
        } else if (ahead_.wants_more()) {
            ahead_.get_some();
            collect(Wait::poll);
        } else {
            collect(Wait::block);
        }
    }
    release_everything();
}

// What a ring may be for when it is not the client's.
void Agent::hear_alarms()
{
    sample_if_due();
    end_patience();
    ask_crowded();
    hear_all_bells();
}

void Agent::handle_ready()
{
    pid_t tid = ready_.front();
    ready_.pop_front();
    Thread* thread = find_thread(tid);
    if (thread == nullptr || !thread->stopped || !thread->pending)
        return;
    if (thread->held && thread->event() == 0)
        return; // the signal is delivered when release_held() lets it go on
    handle_stop(*thread);
}

void Agent::serve_client()
{
    mail_.receive();
    while (auto request = mail_.next()) {
        bool was_silent = std::exchange(silent_client_, false);
        heard_ns_ = monotonic_ns(); // it waits for us now
        Reply reply = answer(*request);
        heard_ns_ = monotonic_ns();
        if (was_silent)
            tell_untold();
        if (reply) {
            mail_.send(reply_ok, *reply);
            continue;
        }
        const Error& error = reply.error();
        Writer out;
        out.put(error.code).put(error.sys).text(error.text);
        mail_.send(reply_error, out.body());
    }
}

Agent::Reply Agent::answer(const Request& request)
{
    Reader in(request.body);
    switch (request.word) {
#define X(name)                                                                        \
    case request_##name:                                                               \
        return do_##name(in, request.fds);
        AGENT_REQUESTS(X)
#undef X
    default:
        return Error{Code::unsupported, "the ptrace-agent does not know the request"};
    }
}

Agent::Reply Agent::do_set_arena(Reader& in, const std::vector<Fd>& fds)
{
    auto program_bytes = in.get<std::uint64_t>();
    auto data_bytes = in.get<std::uint64_t>();
    auto private_bytes = in.get<std::uint64_t>();
    if (!in.ok() || fds.size() != (private_bytes != 0 ? 3 : 2))
        return Error{Code::invalid, "map the arena: each part needs a descriptor"};
    // A runtime fires into the arena that it was given; another session's go, or another
    // try of this one, has its own.
    std::vector<std::shared_ptr<AddressSpace>> spaces; // processes may end meanwhile
    for (auto& [pid, process] : processes_)
        spaces.push_back(process->space);
    for (const std::shared_ptr<AddressSpace>& space : spaces) {
        if (space->runtime.image.value == 0)
            continue;
        StoppedWorld world(*this, space);
        remove_runtime(world);
        forget_jumps(*space);
    }
    if (auto mapped = arena_.map(fds[0].get(), program_bytes, fds[1].get(), data_bytes,
                                 private_bytes != 0 ? fds[2].get() : -1, private_bytes);
        !mapped)
        return mapped.error();
    return Body{};
}

Agent::Reply Agent::do_resume(Reader& in, const std::vector<Fd>&)
{
    auto process = target(in.get<pid_t>(), "resume");
    if (!process)
        return process.error();
    Process& p = **process;
    if (p.started)
        return Body{};
    p.started = true;
    if (!p.planted)
        forget_linker(*p.space);
    for (Thread* thread : threads_in(*p.space))
        thread->inside_exec = false;
    release_held_of(p, std::nullopt);
    return Body{};
}

Agent::Reply Agent::do_resume_libraries(Reader& in, const std::vector<Fd>&)
{
    auto process = target(in.get<pid_t>(), "resume after a library change");
    auto change = in.get<int>();
    if (!process)
        return process.error();
    if (!in.ok() || change < 0 || change > (*process)->library_changes)
        return Error{Code::invalid, "resume after a library change: there was none"};
    (*process)->answered_change = std::max((*process)->answered_change, change);
    if ((*process)->started)
        release_held_of(**process, change);
    return Body{};
}

void Agent::send_event(AgentEvent event)
{
    Writer out;
    out.put(event.kind).put(event.pid).put(event.child).put(event.status);
    out.text(event.text);
    out.put(static_cast<std::uint32_t>(event.forgotten.size()));
    out.raw(event.forgotten.data(), event.forgotten.size() * sizeof(ForgottenProbe));
    mail_.send(word_event, out.body());
}

Result<Process*> Agent::target(pid_t pid, const char* doing)
{
    auto found = processes_.find(pid);
    if (found == processes_.end() || !found->second->is_target)
        return Error{Code::gone, std::string(doing) + " process " +
                                     std::to_string(pid) + ": it is not traced"};
    return found->second.get();
}

Thread* Agent::find_thread(pid_t tid)
{
    if (last_ != nullptr && last_->tid == tid)
        return last_;
    auto found = threads_.find(tid);
    if (found == threads_.end())
        return nullptr;
    return last_ = found->second;
}

Process& Agent::add_process(pid_t pid, std::shared_ptr<AddressSpace> space)
{
    auto process = std::make_unique<Process>();
    process->pid = pid;
    process->space = std::move(space);
    auto& kept = processes_[pid];
    kept = std::move(process);
    return *kept;
}

Thread& Agent::add_thread(Process& process, pid_t tid)
{
    auto thread = std::make_unique<Thread>();
    thread->tid = tid;
    thread->process = &process;
    Thread& added = *thread;
    process.threads[tid] = std::move(thread);
    threads_[tid] = &added;
    if (!sampling_.empty())
        rotation_.add(tid);
    return added;
}

void Agent::drop_thread(Thread& thread, WaitStatus status)
{
    Process& process = *thread.process;
    pid_t tid = thread.tid;
    if (last_ == &thread)
        last_ = nullptr;
    process.space->free_slot(tid);
    threads_.erase(tid);
    process.threads.erase(tid);
    if (!process.threads.empty())
        return;
    AgentEvent event;
    event.kind = AgentEvent::exited;
    event.pid = process.pid;
    event.status = status.raw;
    bool tell = process.is_target && !process.doomed;
    ended_ = process.space;
    processes_.erase(process.pid);
    allow_rseq(*ended_);
    std::vector<pid_t> unannounced;
    for (auto& [orphan, stop] : early_stops_)
        unannounced.push_back(orphan);
    for (pid_t orphan : unannounced)
        release_orphan(orphan);
    if (tell)
        send_event(std::move(event));
}

std::vector<Thread*> Agent::threads_in(const AddressSpace& space)
{
    std::vector<Thread*> all;
    for (auto& [pid, process] : processes_) {
        if (process->space.get() != &space)
            continue;
        for (auto& [tid, thread] : process->threads)
            all.push_back(thread.get());
    }
    return all;
}

std::vector<pid_t> Agent::tids_in(const AddressSpace& space)
{
    std::vector<pid_t> tids;
    for (const Thread* thread : threads_in(space))
        tids.push_back(thread->tid);
    return tids;
}

} // namespace dt::agent
