// SPDX-License-Identifier: MIT
// The agent: one thread that holds every ptrace attachment and does nothing else.
//
//   run():   client's requests ──┐
//            stops (waitpid) ────┴─> handle_stop() -> hit, signal, clone, exec, exit
//
// The thread sleeps in waitpid() only; the client's socket rings a signal (mailbox.hpp)
// that interrupts it. A hit costs waitpid, GETREGS, GETSIGINFO, GETSIGMASK, SETREGS and
// CONT, and what the D program asks for.
//
// A target may die between any two system calls. So no result of ptrace() on a thread is
// an error: ESRCH means that its exit is about to be reported, and that ends it.
//
// README.md lists the rooms and their files.
#pragma once

#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/tracees.hpp"
#include "ptrace-agent/inject/arena_map.hpp"
#include "ptrace-agent/inject/injector.hpp"
#include "ptrace-agent/inject/our_code.hpp"
#include "ptrace-agent/plant/jump_writer.hpp"
#include "ptrace-agent/plant/prefault.hpp"
#include "ptrace-agent/sample/sampler.hpp"
#include "ptrace-agent/wire/protocol.hpp"

#include <deque>
#include <functional>
#include <set>
#include <span>

namespace dt::agent {

class Agent final : private StopHandler {
public:
    explicit Agent(Fd socket) : client_(std::move(socket)), tracees_(client_, *this) {}
    void run();

private:
    using Body = std::vector<std::byte>;
    using Reply = Result<Body>;

    // agent.cpp
    void serve_client();
    void hear_alarms();
    Reply answer(const Request& request);
#define X(name) Reply do_##name(Reader& in, const std::vector<Fd>& fds);
    AGENT_REQUESTS(X)
#undef X
    Result<Process*> target(pid_t pid, const char* doing);

    // StopHandler
    void secure_hit(Thread& thread) override;
    bool end_late_call(Thread& thread) override
    {
        return injector_.end_late_call(thread);
    }
    void settle(Thread& thread) override;
    void handle_stop(Thread& thread) override;
    bool is_simple(const Thread& thread) const override;
    void handle_new_task(Thread& parent) override;
    void handle_vfork_done(Thread& parent) override;
    void handle_exec(Thread& thread) override;
    void handle_unannounced(pid_t tid) override;
    void go_on(Thread& thread, int signal = 0) override;
    void take_sample(Thread& thread) override;
    void before_release(AddressSpace& space) override;
    void thread_added(pid_t tid) override;
    void process_ended(const Process& process, WaitStatus status) override;

    // stops.cpp
    void undo_stray(Thread& thread);
    void handle_signal(Thread& thread, int signal);
    void handle_event(Thread& thread, int event, int signal);
    void begin_program(Thread& thread);
    bool await_exec(const AddressSpace& space);
    void forked(Thread& parent, pid_t child);

    // hit.cpp
    void handle_hit(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    void hit_once(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    void fire(Thread& thread, const Tracepoint& tp, const Registers& regs);
    void run_displaced(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    void run_in_slot(Thread& thread, Tracepoint& tp, const Displaced& plan,
                     user_regs_struct& user);
    void step_in_place(Thread& thread, Tracepoint& tp, user_regs_struct& user);
    bool end_step(Thread& thread); // true: the stop was the step's own
    void leave_copy(Thread& thread);
    void drop_tracepoint(Tracepoint& tp, AddressSpace& space, const char* why);

    // traps.cpp
    void learn_mask(Thread& thread);
    void learn_trap_action(Process& process, Thread& thread);
    void repair_after_trap(Thread& thread);
    bool deliver_trap(Thread& thread); // true: it has gone on
    void watch_sigaction(StoppedWorld& world);
    bool ensure_rescue(StoppedWorld& world);
    void install_rescue(StoppedWorld& world);
    void remove_rescue(StoppedWorld& world, bool all_stopped);
    bool make_sigaction(Thread& thread, const Tracepoint& tp, user_regs_struct& user);
    void see_sigaction(Thread& thread, const Registers& regs, bool system_call);
    bool exchange_action(Thread& thread, const KernelAction* wanted,
                         KernelAction* told);

    // grab.cpp, launch.cpp
    Result<Ok> seize_all(Process& process, std::uint64_t& ends);
    bool has_missed_thread(const Process& process);
    Result<Ok> run_to(Process& process, EvalTime evaltime, const std::string& name);
    Result<Ok> run_until(Process& process, TargetAddr at, const std::string& name);
    Result<Ok> step_to_main(Process& process, const std::string& name);

    // linker.cpp
    // True: from now on. With `later` the breakpoint is left to the caller.
    bool watch_linker(StoppedWorld& world, std::vector<Tracepoint*>* later = nullptr);
    static void forget_linker(AddressSpace& space); // until the next plant
    bool handle_library_change(Thread& thread);

    // client_wait.cpp
    void hold_for_client(Thread& thread);
    // It goes on, after its stop is handled where that is still to be done.
    void release_held(Thread& thread);
    void release_held_of(Process& process, std::optional<int> change);
    void end_patience();
    void tell_untold();

    // plant.cpp
    // Stops the world when somebody in it can make a system call for us.
    void await_calls(std::optional<StoppedWorld>& world, pid_t pid,
                     const std::shared_ptr<AddressSpace>& space, Mechanism mechanism);
    void tell_libraries_changed(pid_t pid);
    Result<Ok> prepare_target(StoppedWorld& world, Mechanism mechanism,
                              std::vector<Tracepoint*>& linker);

    // probe_context.cpp
    bool handle_in_our_code(Thread& thread, int signal);
    bool serve_runtime(Thread& thread, const siginfo_t& info, user_regs_struct& user);
    bool show_as_program(Thread& thread, siginfo_t& info, user_regs_struct& user);
    bool into_copy(Thread& thread, const siginfo_t& info, user_regs_struct& user);

    // upcalls.cpp
    void hear_all_bells();
    void hear_bells(const std::shared_ptr<AddressSpace>& space);
    void answer_ring(const std::shared_ptr<AddressSpace>& space, const Ring& ring);
    void answer_upcall(Thread& thread, TargetAddr at);
    Thread* who_rang(AddressSpace& space, pid_t number);

    // leave_code.cpp
    void ask_crowded();
    void deliver_deferred(Thread& thread);
    bool run_in_our_code(Thread& thread, int request, Try which = Try::last);
    bool run_to_program(Thread& thread, bool& ran);
    bool run_out(Thread& thread, Try which); // for good; false: it ended
    bool run_to_gate(Thread& thread, Try which = Try::last);

    // follow.cpp
    bool follow(const Process& parent, pid_t child, WaitStatus status);
    void begin_followed(Thread& newborn);
    void become_target(Process& guest);
    void hold_after_exec(Thread& thread);
    void drop_inherited(StoppedWorld& world, const Inheritance& inherited);

    // release.cpp
    void await_late_calls(std::uint64_t patience_ns);
    bool release_given_up(); // false: no process is to be released
    void release(std::shared_ptr<AddressSpace> space);
    bool remove_all(std::shared_ptr<AddressSpace> space, Try which);
    void see_off(std::uint64_t patience_ns);
    void see_off(const std::function<bool(const Thread&)>& whom, std::uint64_t ends);
    bool remove_runtime(StoppedWorld& world, Try which = Try::last);
    void forget_jumps(AddressSpace& space);
    void undo_hit(Thread& thread, bool all); // or of tracepoints that serve nobody
    std::uint64_t unmap_limit_ns() const;
    void let_go(Thread& thread, int signal);
    void tell_lost(const Thread& thread);
    void release_everything();
    std::vector<std::shared_ptr<AddressSpace>> take_unreleased();

    ClientLink client_;
    TracepointTable table_; // outlives the address spaces, which tracees_ owns
    Tracees tracees_;
    Injector injector_{tracees_};
    std::uint64_t heard_ns_ = 0; // monotonic time of the client's last request
    bool silent_client_ = false; // nobody waits for it
    MemoryAhead ahead_;
    ArenaMap arena_;
    Alarms alarms_;
    ThreadBases bases_{tracees_};
    RseqAreas rseq_{tracees_};
    RuntimeLoader loader_{tracees_, injector_, arena_, bases_, rseq_};
    JumpWriter jumps_{tracees_, injector_, arena_, loader_};
    Sampler sampler_{tracees_, arena_, client_, alarms_};
    std::shared_ptr<AddressSpace> ended_; // of the process that ended last
    std::size_t n_slow_unmaps_ = 0;       // since the consumer exited
};

// In its innermost pid namespace, which is what the kernel calls it by there.
pid_t number_of(Thread& thread); // upcalls.cpp

} // namespace dt::agent
