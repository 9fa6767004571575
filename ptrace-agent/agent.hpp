// SPDX-License-Identifier: MIT
// The agent: a process that traces all targets with ptrace(2), in one thread. Its
// clients are the consumers.
//
//   run():   clients' requests ──┐
//            stops (waitpid) ────┴─> handle_stop() -> hit, signal, clone, exec, exit
//
// The agent sleeps only in waitpid(). A request of a client interrupts this call with a
// signal (mailbox.hpp).
//
// A target may exit between any two system calls. So ESRCH from ptrace() is not an
// error. The agent removes the thread later, when the kernel reports its exit.
#pragma once

#include "process/trust_domain.hpp"
#include "ptrace-agent/hold/attendance.hpp"
#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/follower.hpp"
#include "ptrace-agent/hold/grabber.hpp"
#include "ptrace-agent/hold/launcher.hpp"
#include "ptrace-agent/hold/releaser.hpp"
#include "ptrace-agent/hold/session_closer.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/probe_context.hpp"
#include "ptrace-agent/inject/runtime_exit.hpp"
#include "ptrace-agent/inject/upcalls.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/plant/planter.hpp"
#include "ptrace-agent/plant/uprobe_watch.hpp"
#include "ptrace-agent/sample/sampler.hpp"
#include "ptrace-agent/trap/hit_handler.hpp"
#include "ptrace-agent/trap/task_events.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/door.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <optional>
#include <unistd.h>

namespace dt::agent {

class Agent final : private StopHandler {
public:
    explicit Agent(Fd socket) { sessions_.add(ClientLink(std::move(socket))); }
    void run();

private:
    // Defined in agent.cpp or in this file.
    enum class Admission { none, full, guest };
    Admission admission_of(const Door::Caller& caller) const;
    void admit_clients();
    void serve_clients();
    void serve(AgentSession& session);
    void end_session(AgentSession& session);
    void end_exited();
    void let_run(Process& process);
    Reply detach(Reader& in);
    Reply answer(const Request& request);
    Reply answer_attached(const Request& request);
    void release_answered();
    Reply set_arena(Reader& in, const std::vector<Fd>& fds);
    Reply confine_agent(Reader& in);
    Reply resume(Reader& in);
    Reply resume_libraries(Reader& in);
    Reply profile(Reader& in);
    Reply set_call_probes(Reader& in);
    void handle_alarms() override;
    void before_release(AddressSpace& space) override;
    void process_ended(const Process& process, WaitStatus status) override;
    void take_sample(Thread& thread) override { sampler_.take_sample(thread); }
    bool attend(const std::shared_ptr<AddressSpace>& space) override
    {
        return attendance_.attend(space);
    }
    void await_tracer(Thread& thread, std::uint64_t number,
                      std::uint64_t second) override
    {
        self_tracing_.await_tracer(thread, number, second);
    }
    void has_forked(AddressSpace& space) override { attendance_.has_forked(space); }
    void thread_added(pid_t tid) override { sampler_.thread_added(tid); }
    void secure_hit(Thread& thread) override { HitHandler::secure(thread); }
    void handle_new_task(Thread& parent) override { follower_.handle_new_task(parent); }
    bool end_late_call(Thread& thread) override
    {
        return injector_.end_late_call(thread);
    }

    // Defined in stops.cpp.
    void settle(Thread& thread) override;
    void handle_stop(Thread& thread) override;
    bool is_simple(const Thread& thread) const override;
    void handle_vfork_done(Thread& parent) override;
    void handle_exec(Thread& thread) override;
    void handle_unannounced(pid_t tid) override;
    void go_on(Thread& thread, int signal = 0) override;
    bool handle_in_our_code(Thread& thread, int signal);
    void handle_signal(Thread& thread, int signal);
    void handle_event(Thread& thread, int event, int signal);

    // Each member uses only the members above it, and calls the agent through
    // StopHandler.
    Sessions sessions_;
    Door door_;
    // The domain of the client that has started the agent.
    std::optional<TrustDomain> domain_ = trust_domain_of(getpid());
    TrustDomain limit_;     // the domain of the targets, if the agent is confined
    TracepointTable table_; // must outlive the address spaces in tracees_
    Tracees tracees_{sessions_, *this};
    Injector injector_{tracees_};
    Alarms alarms_;
    ThreadBases bases_{tracees_};
    RseqAreas rseq_{tracees_};
    RuntimeLoader loader_{tracees_, injector_, bases_, rseq_};
    JumpWriter jumps_{tracees_, injector_, loader_};
    Sampler sampler_{tracees_, alarms_};
    TrapMask trap_mask_{tracees_, injector_};
    TrapSignals trap_signals_{tracees_, injector_, trap_mask_};
    TaskEvents task_events_{tracees_};
    ClientWait client_wait_{tracees_, alarms_};
    LinkerWatch linker_{jumps_, client_wait_};
    Upcalls upcalls_{tracees_, bases_, linker_, client_wait_};
    ProbeContext probe_context_{trap_signals_, upcalls_};
    RuntimeExit runtime_exit_{tracees_, alarms_, upcalls_, probe_context_};
    HitHandler hits_{tracees_,      injector_, trap_mask_,
                     trap_signals_, linker_,   client_wait_};
    Follower follower_{tracees_,   table_,        injector_,    rseq_,   jumps_,
                       trap_mask_, trap_signals_, task_events_, linker_, client_wait_};
    LeftMappings left_{tracees_, injector_, trap_signals_};
    Releaser releaser_{tracees_, table_,        injector_, trap_signals_,
                       hits_,    runtime_exit_, follower_, left_};
    SessionCloser closer_{tracees_, table_,  injector_, jumps_,
                          hits_,    alarms_, releaser_};
    Planter planter_{tracees_,      table_,  injector_,    loader_,   jumps_,
                     trap_signals_, linker_, client_wait_, releaser_, closer_};
    Grabber grabber_{tracees_, table_, trap_signals_, follower_, releaser_, left_};
    SelfTracing self_tracing_{tracees_, alarms_,       injector_, sampler_,
                              jumps_,   runtime_exit_, releaser_};
    Attendance attendance_{tracees_,  alarms_,  injector_,     bases_,
                           rseq_,     jumps_,   sampler_,      client_wait_,
                           releaser_, grabber_, self_tracing_, table_};
    UprobeWatch uprobe_watch_{tracees_, alarms_, jumps_, client_wait_};
    Launcher launcher_{tracees_, table_, linker_, client_wait_};
    std::shared_ptr<AddressSpace> ended_; // memory of the process that exited last
};

} // namespace dt::agent
