// SPDX-License-Identifier: MIT
// The agent: a process that traces all targets with ptrace(2), in one thread. Its
// client is the consumer.
//
//   run():   client's requests ──┐
//            stops (waitpid) ────┴─> handle_stop() -> hit, signal, clone, exec, exit
//
// The agent sleeps only in waitpid(). A request of the client interrupts this call with
// a signal (mailbox.hpp).
//
// A target may exit between any two system calls. So ESRCH from ptrace() is not an
// error. The agent removes the thread later, when the kernel reports its exit.
#pragma once

#include "ptrace-agent/hold/client_wait.hpp"
#include "ptrace-agent/hold/follower.hpp"
#include "ptrace-agent/hold/grabber.hpp"
#include "ptrace-agent/hold/launcher.hpp"
#include "ptrace-agent/hold/releaser.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/probe_context.hpp"
#include "ptrace-agent/inject/runtime_exit.hpp"
#include "ptrace-agent/inject/upcalls.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/plant/planter.hpp"
#include "ptrace-agent/plant/uprobe_watch.hpp"
#include "ptrace-agent/sample/sampler.hpp"
#include "ptrace-agent/trap/hit_handler.hpp"
#include "ptrace-agent/trap/trap_signals.hpp"
#include "ptrace-agent/wire/protocol.hpp"

namespace dt::agent {

class Agent final : private StopHandler {
public:
    explicit Agent(Fd socket) : client_(std::move(socket)), tracees_(client_, *this) {}
    void run();

private:
    // Defined in agent.cpp or in this file.
    void serve_client();
    Reply answer(const Request& request);
    Reply set_arena(Reader& in, const std::vector<Fd>& fds);
    static Reply confine_agent(Reader& in);
    Reply resume(Reader& in);
    Reply resume_libraries(Reader& in);
    Reply profile(Reader& in);
    void handle_alarms() override;
    void before_release(AddressSpace& space) override;
    void process_ended(const Process& process, WaitStatus status) override;
    void take_sample(Thread& thread) override { sampler_.take_sample(thread); }
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
    ClientLink client_;
    TracepointTable table_; // must outlive the address spaces in tracees_
    Tracees tracees_;
    Injector injector_{tracees_};
    ArenaMap arena_;
    Alarms alarms_;
    ThreadBases bases_{tracees_};
    RseqAreas rseq_{tracees_};
    RuntimeLoader loader_{tracees_, injector_, arena_, bases_, rseq_};
    JumpWriter jumps_{tracees_, injector_, arena_, loader_};
    Sampler sampler_{tracees_, arena_, alarms_};
    TrapSignals trap_signals_{tracees_, injector_};
    ClientWait client_wait_{tracees_, client_, alarms_};
    LinkerWatch linker_{jumps_, client_wait_};
    Upcalls upcalls_{tracees_, arena_, bases_, linker_, client_wait_};
    ProbeContext probe_context_{trap_signals_, upcalls_};
    RuntimeExit runtime_exit_{tracees_, client_, alarms_, upcalls_, probe_context_};
    HitHandler hits_{tracees_,      client_, injector_,   arena_,
                     trap_signals_, linker_, client_wait_};
    Follower follower_{tracees_, client_, table_,        injector_, arena_,
                       rseq_,    jumps_,  trap_signals_, linker_,   client_wait_};
    Releaser releaser_{tracees_,      client_, table_,        injector_,
                       trap_signals_, hits_,   runtime_exit_, follower_};
    Planter planter_{tracees_,      client_, table_,       injector_, loader_,  jumps_,
                     trap_signals_, linker_, client_wait_, hits_,     releaser_};
    Grabber grabber_{tracees_, client_, table_, trap_signals_, follower_, releaser_};
    UprobeWatch uprobe_watch_{tracees_, client_, alarms_, jumps_, client_wait_};
    Launcher launcher_{tracees_, client_, table_, trap_signals_, linker_, client_wait_};
    std::shared_ptr<AddressSpace> ended_; // memory of the process that exited last
};

} // namespace dt::agent
