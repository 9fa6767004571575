// SPDX-License-Identifier: MIT
// The client of the ptrace-agent, in the consumer's process.
//
//   consumer process                      agent process
//   AgentClient ──requests──> socketpair ──> Agent ──ptrace──> targets
//               <──replies, events──               └─dt_fire──> arena (shared)
//
// A session makes these calls, in this order:
//
//   AgentClient agent = AgentClient::start();      early, because it forks
//   agent.set_arena(...);                          before the first plant()
//   Target t = agent.create({...}) or agent.grab(pid);
//   read /proc/<pid>/maps, add probes to the arena, agent.plant(t.pid, sites);
//   agent.resume(t.pid);                           a created target runs only now
//   poll fd(), next_event(), ... agent.detach(t.pid);
//
// Each request except expect() waits for its reply. If the agent neither replies nor
// uses CPU time for agent_silence_ns, this object kills the agent and adds the event
// agent_gone.
//
// A grabbed target keeps running, except during short stops. After the first plant(),
// a thread that calls dlopen() or dlclose() waits for resume_after_library_change(),
// but at most ten seconds. While the thread waits, new objects are mapped, but their
// constructors have not run.
//
// When this object is destroyed, or its process dies, the agent restores the text of
// all targets and detaches. It kills a created target that was never resumed. Only one
// thread may use this object.
//
// Further dtrace processes can use the same agent (join()). Each has a session of its
// own. The agent keeps a target as long as any session traces it, and exits after the
// last session.
//
// Root can join the agent of another user. This agent may be any program of that user,
// so this object treats everything that it sends as hostile: it checks each value
// (replies.hpp), limits the time of all waits (patience.hpp) and the memory of all
// messages, and escapes the texts. If the agent breaks a rule, this object hangs up and
// adds the event agent_gone. The agent's claims about processes are checked by
// Processes (libdtrace/session/processes/processes.hpp).
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "fasttrap/further_blocks.hpp"
#include "ptrace-agent/runtime/runtime.h"
#include "ptrace-agent/wire/agent_starter.hpp"
#include "ptrace-agent/wire/patience.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace dt {

// The point at which create() stops a target (dtrace -x evaltime). Two kinds of program
// stop at their entry instead: static programs with preinit, and programs without a C
// main() with postinit or main.
enum class EvalTime : std::uint8_t {
    exec,     // the exec has ended; no library is mapped
    preinit,  // libraries are mapped and relocated; no constructor has run
    postinit, // constructors have run; the target is at the first instruction of main()
    main,     // the same as postinit on Linux
};

struct EnvChange {
    std::string name;
    std::optional<std::string> value; // nullopt removes the variable
};

// Whether the agent traced a process before grab() was called.
enum class TracedBefore : std::uint8_t {
    no,
    for_others,  // for other sessions, or because it shares a target's memory
    for_session, // a child of this session's target, for which an event is sent, or it
                 // shares the memory of this session's target
};

struct Target {
    pid_t pid = 0;
    bool created = false; // create() started it; it is stopped until resume()
    TracedBefore traced_before = TracedBefore::no;
};

enum class SiteKind : std::uint8_t {
    entry,        // arg0.. = arguments, as the calling convention passes them
    ret,          // arg0 = Site::arg0 (offset in the function), arg1 = return value
    offset,       // arg0.. = the argument registers, which may contain anything
    static_probe, // arg0.. = the note's operands; Site::arg0 = index into StaticTable
    jump_out,     // as ret at an indirect jump, but Site::arg0 = index into StaticTable
    // Before and after a system call. Site::arg0 is its number. If the instruction can
    // make any call, arg0 is any_call, and the probes are those of set_call_probes().
    // The first of the two sites also notes the number for the return.
    system_call,   // arg0.. = arguments of the system call
    system_return, // arg0, arg1 = its result
    // Not a probe. After mmap(2). If the call has mapped a file as executable, the thread
    // waits for resume_after_library_change().
    new_text,
};

// The contents of a static probe's note about one of its sites.
struct StaticFacts {
    // The address of the probe's semaphore, or 0 if the probe has no semaphore. A
    // semaphore is a 16-bit counter that is not 0 while the probe is traced.
    TargetAddr semaphore;
    std::uint32_t first_operand = 0, n_operands = 0; // in StaticTable::operands
};
struct StaticTable {
    std::vector<StaticFacts> sites;
    std::vector<dt_operand> operands; // with addresses of the process, not of the file
};

constexpr std::uint64_t any_call = DT_RT_ANY_CALL;
// Returns the bits of Site::arg0 for a probe of the proc provider at a system call.
constexpr std::uint64_t task_call(dt_rt_task_call call)
{
    return std::uint64_t{call} << DT_RT_TASK_CALL_SHIFT;
}
// Set in Site::arg0 of a system_return if a branch also leads to its address.
constexpr std::uint64_t check_return = DT_RT_CHECK_RETURN;
constexpr std::uint8_t syscall_bytes = 2;

// Returns whether Site::arg0 is an index into StaticTable.
constexpr bool has_operands(SiteKind kind)
{
    return kind == SiteKind::static_probe || kind == SiteKind::jump_out;
}

// A jump_out site fires if the jump leaves its function. The site's operands are the
// destination, then the first address and the end of each part of the function. The
// part with the function's entry comes first.
constexpr std::size_t operands_per_part = 2;

// Reasons why no mechanism can probe a site, each with its text for the user.
// clang-format off
#define DT_NEVER_PROBED(X)                                                                 \
    X(no,            "")                                                                   \
    X(restartable,   "each stop restarts the restartable sequence, so it would never end") \
    X(no_known_code, "no known code leads there, so the bytes may be data")
// clang-format on
enum class NeverProbed : std::uint8_t {
#define X(name, text) name,
    DT_NEVER_PROBED(X)
#undef X
};
// Returns an empty string for `no` and for a value that is not in the table.
std::string_view text_of(NeverProbed never);

// One place where a probe fires. A ret site at a conditional jump fires only if the
// jump is taken.
struct Site {
    TargetAddr at;
    std::uint32_t probe = 0; // id that dt_probe_add() returned
    SiteKind kind = SiteKind::entry;
    std::uint8_t n_expected = 0; // the number of bytes in `expected`
    NeverProbed never = NeverProbed::no;
    std::uint8_t breakpoint : 1 = 0; // gets a breakpoint if no jump is possible
    std::uint8_t no_stack : 1 = 0;   // nothing may be written below the stack pointer
    std::uint8_t only_jump : 1 = 0;  // breakpoints could starve the thread (vDSO)
    std::uint8_t pad : 5 = 0;
    // The meaning depends on the kind:
    //   ret                      the offset in the function
    //   entry                    PatchSite::loop_end
    //   static_probe, jump_out   an index into StaticTable
    //   system_call, system_return   the number of the system call
    std::uint64_t arg0 = 0;
    std::array<std::byte, 8> expected{}; // the file's bytes at this place
    // Limits of the bytes around the site that may be moved (see PatchSite). If `first`
    // and `end` are 0, the limits are unknown. If they equal `at`, no byte may be
    // moved.
    TargetAddr first, end, beyond;
    FurtherBlocks further{};
    std::array<std::uint8_t, 2> pad_at_end{};
};

// An executable mapping, as it was in /proc/PID/maps when the client determined its
// sites.
struct SeenText {
    TargetAddr begin, end;
    std::uint64_t offset = 0; // in the file
    std::uint32_t major = 0, minor = 0;
    std::uint64_t inode = 0; // 0 if the mapping is anonymous
};

// Selects the probes that a target's forked children inherit.
enum class Follow : std::uint8_t { none, statics, all };

// Selects the processes that remain targets when they execute another program.
enum class FollowExec : std::uint8_t {
    none,
    itself, // the target remains a target, but its children do not
    // the target, its followed children, and programs that it spawns with vfork
    all,
};

// The events of a process's tasks for which probes can fire. ptrace-agent/trap/task_events.hpp
// describes when they occur. The arguments of their probes:
//
//   create                   the new process's id, plus new_process
//   lwp_create               the new thread's id, its process's id
//   exit                     CLD_EXITED, CLD_KILLED or CLD_DUMPED
//   fault, signal_handle     signal_arguments() in task_events.cpp
//   signal_discard           the thread's id, its process's id, the signal
//   the other events         no arguments
// clang-format off
#define DT_TASK_EVENTS(X) /* X(event, the probe's name) */                               \
    X(create, "create")           X(start, "start")                                      \
    X(lwp_create, "lwp-create")   X(lwp_start, "lwp-start")   X(lwp_exit, "lwp-exit")    \
    X(exec_success, "exec-success")                           X(exit, "exit")            \
    X(fault, "fault")             X(signal_handle, "signal-handle")                      \
    X(signal_discard, "signal-discard")
// clang-format on
enum class TaskEvent : std::uint8_t {
#define X(event, name) event,
    DT_TASK_EVENTS(X)
#undef X
};
constexpr std::size_t n_task_events = 0
#define X(event, name) +1
    DT_TASK_EVENTS(X)
#undef X
    ;
// The probe of each event. 0 means that the event has no probe.
using TaskProbes = std::array<std::uint32_t, n_task_events>;
// Set in the argument of `create`. The new process is a copy of the current process.
constexpr std::uint64_t new_process = std::uint64_t{1} << 32;

// The probes of each system call, by its number. 0 means that there is no probe.
struct CallProbes {
    std::array<std::uint32_t, DT_RT_SYSCALLS> entry{}, ret{};
    bool operator==(const CallProbes&) const = default;
};

// How a site fires (dtrace -x mechanism).
enum class Mechanism : std::uint8_t {
    automatic, // a jump into the runtime; some sites without a jump get a breakpoint
    jump,      // a jump; sites without a jump are refused
    int3,      // a breakpoint that the agent serves
    uprobe,    // a uprobe in the kernel; the agent only watches libraries
};

// Returns whether the mechanism uses no jumps. The target then needs no runtime.
constexpr bool by_traps(Mechanism mechanism)
{
    return mechanism == Mechanism::int3 || mechanism == Mechanism::uprobe;
}

// How plant() would probe a site.
struct SitePlan {
    enum Form : std::uint8_t { jump, breakpoint, refused } form = refused;
    std::string text; // the kind of jump, or the reason why there is no jump
};

struct Refusal {
    std::uint32_t site = 0; // index in the span given to plant()
    std::string reason;     // for example "the instruction is int3"
};

struct PlantReport {
    std::uint32_t n_planted = 0;     // sites that are neither refused nor gone
    std::uint32_t n_tracepoints = 0; // all tracepoints that the target now has
    std::vector<Refusal> refused;    // ascending by site
    // Sites that have a breakpoint, with the reason why they have no jump. Ascending by
    // site.
    std::vector<Refusal> breakpoints;
    // Sites whose mapping has changed since the client read it. A libraries_changed
    // event reports the change.
    std::vector<std::uint32_t> gone; // ascending
    // Entry sites that also fire when a loop jumps back to them.
    std::vector<std::uint32_t> fired_by_loops;
};

// Text that a dead tracer has changed.
struct LeftText {
    TargetAddr at;
    std::vector<std::byte> now, before; // of equal length
};
struct LeftBehind {
    std::vector<LeftText> texts;
    // Addresses of runtimes, which may have a list of raised semaphores.
    std::vector<TargetAddr> runtimes;
    // Whether there may be mappings of the tracer, or its code for system calls.
    bool any_memory = false;
    // Whether the text of all files was compared, so that no other text is changed.
    bool all_known = false;
    bool empty() const { return texts.empty() && runtimes.empty() && !any_memory; }
};

// A planted probe whose text has been unmapped. Other text may be there now.
struct ForgottenProbe {
    TargetAddr at;
    std::uint32_t probe = 0;
    std::uint32_t session = 0; // the agent's number of the session that set it
};

struct AgentEvent {
    enum Kind : std::uint8_t {
        exited,            // the process has exited and is no longer a target
        execed,            // the process runs a new program, which has no probes yet
        libraries_changed, // a thread waits for resume_after_library_change()
        forked,            // the process has forked `child`, which may be a target
        given_up,          // the process did not stop in time and is no longer traced
        agent_error,       // the agent reports an error; pid may be 0
        agent_gone,        // the agent has died; this is the last event
    } kind = exited;
    pid_t pid = 0;
    pid_t child = 0; // for forked: the pid of the child
    // The meaning depends on the kind:
    //   exited              the wait status (waitpid(2))
    //   forked              1 if the child is now a target, or 0 if it is not traced
    //   libraries_changed   the argument for resume_after_library_change()
    //   execed              the same argument, or 0 if the process does not wait
    int status = 0;
    // For execed: the program's path, or "" if unknown. For given_up, agent_error and
    // agent_gone: the reason.
    std::string text;
    std::vector<ForgottenProbe> forgotten; // for libraries_changed
};

// A probe that fires at regular intervals in each running thread of the targets. arg1
// is the program counter.
struct ProfileTimer {
    std::uint32_t probe = 0;
    std::uint32_t pad = 0;
    std::uint64_t interval_ns = 0;
};

// The limit for an agent that neither replies nor uses CPU time. Must be shorter than
// the session's lease, because the client cannot extend the lease while it waits.
constexpr std::uint64_t agent_silence_ns = 15'000'000'000;

class AgentClient {
public:
    // Lets the starter create the agent. Can be called at any time.
    static Result<AgentClient> start(AgentStarter& starter);
    // The same with a starter that then exits. Call it early, while the process is small
    // and has few threads.
    static Result<AgentClient> start();
    // Begins a session with an agent that another dtrace process has started. `confined`
    // is whether the agent has a broker. Fails with Code::not_found if the process is not
    // an agent. Fails with Code::permission if the agent belongs to another user, except
    // in two cases: this process is root, or the agent is a confined agent of root. The
    // agent then decides whether it accepts this process.
    static Result<AgentClient> join(pid_t agent, bool confined = false);
    AgentClient(AgentClient&&) noexcept;
    AgentClient& operator=(AgentClient&&) noexcept;
    AgentClient(const AgentClient&) = delete;
    AgentClient& operator=(const AgentClient&) = delete;
    // Waits until the agent has released all targets of this session. Kills the agent if
    // it is silent for agent_silence_ns, unless another dtrace process has started it.
    ~AgentClient();

    // Takes all rights from the agent, except those over processes that the trust domain
    // covers. `domain` is what put_domain() (process/trust_domain.hpp) wrote. Must be
    // called before grab(). If it fails, the agent must not be used.
    Result<Ok> confine(std::span<const std::byte> domain);

    // Sets the parts of the arena. The program part is read-only. Targets never map the
    // private part, which is optional (private_bytes 0). The caller keeps the
    // descriptors. Sizes are multiples of 64 KiB.
    Result<Ok> set_arena(int program_fd, std::uint64_t program_bytes, int data_fd,
                         std::uint64_t data_bytes, int private_fd = -1,
                         std::uint64_t private_bytes = 0);

    // Starts a command, and stops it at the point that evaltime selects. Errors:
    //   Code::not_found     there is no such file
    //   Code::permission    it is not executable
    //   Code::unsupported   it is a 32-bit program
    //   Code::busy          its exec did not finish in time
    //   Code::invalid       its exec failed for another reason, or it ended too early
    Result<Target> create(const std::vector<std::string>& argv,
                          const std::vector<EnvChange>& env, EvalTime evaltime);

    // Attaches to a process. Errors:
    //   Code::not_found     there is no such process
    //   Code::gone          it is a zombie
    //   Code::permission    attaching is forbidden; the text names the setting
    //   Code::busy          another process traces it
    //   Code::late          attaching took too long
    //   Code::unsupported   it is 32-bit, a kernel thread, or has a shadow stack
    //   Code::invalid       it is this process or the agent
    Result<Target> grab(pid_t pid);

    // Announces n_sites sites, which the caller will compute with n_threads threads. If
    // a processor is idle, the agent prefaults memory for them. Does not wait for a
    // reply.
    void expect(std::size_t n_sites, unsigned n_threads = 1);
    // Returns how plant() would probe each site. The target is not stopped or changed,
    // so refusals that need a loaded runtime are not found. Fails with Code::busy if
    // the target has probes.
    Result<std::vector<SitePlan>> plan(pid_t pid, std::span<const Site> sites,
                                       Mechanism mechanism = Mechanism::automatic);
    // Plants probes. The target is stopped while breakpoints are planted. Jumps need
    // only two short stops. A refused site is not an error of the call.
    //
    // `seen` lists the mappings of the sites, in ascending order. If the list is not
    // empty, the agent compares it with the current mappings.
    //
    // Fails with Code::gone if the process has exited, or has executed another program
    // that next_event() has not reported.
    Result<PlantReport> plant(pid_t pid, std::span<const Site> sites,
                              Mechanism mechanism = Mechanism::automatic,
                              std::span<const SeenText> seen = {},
                              const StaticTable& statics = {});
    // Removes probes, identified by address and probe id. Restores the text when the
    // last probe of a tracepoint is removed. Ignores unknown sites.
    Result<Ok> remove(pid_t pid, std::span<const Site> sites);

    // Sets the probes that fire at instructions that can make any system call, in all
    // targets of the session. Does nothing if they have not changed.
    Result<Ok> set_call_probes(const CallProbes& probes);
    // Sets the probes that fire for the events of the process's tasks.
    Result<Ok> set_task_probes(pid_t pid, const TaskProbes& probes);

    // Follows children that the process forks later: they and their own children become
    // targets. `what` selects their probes. `exec` selects the processes that remain
    // targets when they execute another program. Such a process waits after the exec
    // until resume_after_library_change() replies to the event `execed`.
    Result<Ok> follow(pid_t pid, Follow what, FollowExec exec = FollowExec::none);
    // Says whether the agent may detach from targets of this session while nothing needs
    // ptrace(2). Their jumps then still fire.
    Result<Ok> release_idle(bool on);

    // Restores text that a dead tracer has changed, and lowers the semaphores that it
    // raised. Text that no longer equals `now` stays unchanged.
    Result<Ok> put_back(pid_t pid, const LeftBehind& left);

    // Lets a created target run. Has no effect on a running target.
    Result<Ok> resume(pid_t pid);
    // Replies to a libraries_changed or execed event. The threads that wait for the
    // reply then continue. `change` is the event's status.
    Result<Ok> resume_after_library_change(pid_t pid, int change);
    // Restores every byte of the target and stops tracing all its threads. Fails with
    // Code::gone if the target has already exited.
    Result<Ok> detach(pid_t pid);
    // Replaces the timers for sampling. An empty list ends sampling. Returns a message
    // for the user about omitted samples, or an empty string.
    Result<std::string> profile(std::span<const ProfileTimer> timers);
    // Kills a created target that will never be resumed (SIGKILL).
    Result<Ok> kill(pid_t pid);

    // Returns a descriptor to poll. When it is readable, call next_event() until it
    // returns nothing. Before each poll, check has_event(), because events may have
    // arrived before a reply.
    int fd() const { return socket_.get(); }
    bool has_event() const { return !events_.empty(); }
    // Returns the next event, or nothing. Never waits. Fails only if the agent sent an
    // unexpected reply.
    Result<std::optional<AgentEvent>> next_event();

    pid_t agent_pid() const { return agent_; }
    // Returns the process that has the agent's rights after confine(), otherwise 0.
    pid_t broker_pid() const { return broker_; }
    bool is_gone() const { return gone_; }
    // Ends the session. Does not wait for the agent.
    void hang_up();
    // Returns whether another dtrace process has started the agent.
    bool is_joined() const { return joined_; }
    // Returns the user of the dtrace process that has started the agent.
    uid_t user() const { return user_; }
    // Returns whether the agent belongs to another user than root and this process.
    bool is_foreign() const { return foreign_; }

private:
    // Uses and limits the time of the waits for a foreign agent while it exists.
    class TimedWait;
    AgentClient(Fd socket, pid_t agent);
    bool await_end();
    void kill_silent();
    bool send(std::uint32_t request, std::span<const std::byte> body,
              std::span<const int> fds = {});
    Result<std::vector<std::byte>> call(std::uint32_t request,
                                        std::span<const std::byte> body,
                                        std::span<const int> fds = {});
    Result<std::vector<std::byte>> call_with(std::span<const Site> sites,
                                             std::uint32_t request,
                                             std::span<const std::byte> body);
    Result<Ok> call_ok(std::uint32_t request, std::span<const std::byte> body,
                       std::span<const int> fds = {});
    Result<Ok> receive(bool wait); // appends the result of one recv() to inbox_
    bool take_message();           // moves a message from inbox_ to events_ or reply_
    bool take_event(std::span<const std::byte> body);
    bool may_accept(std::uint32_t word, std::size_t bytes) const;
    Error malformed();
    std::string safe(std::string text) const;
    Error lost() const;
    bool await(short events);
    void agent_died(std::string_view why);
    void close();

    Fd socket_;
    pid_t agent_ = 0, broker_ = 0;
    // pidfds of the agent and of its broker. They are empty before Linux 5.3, and
    // broker_exit_ is empty if the agent is not confined.
    Fd exit_, broker_exit_;
    std::vector<std::byte> inbox_;
    std::deque<AgentEvent> events_;
    std::size_t events_bytes_ = 0;           // memory of events_
    CallProbes call_probes_;                 // that were set last
    std::map<pid_t, std::uint32_t> n_execs_; // execs that next_event() has reported
    std::optional<std::vector<std::byte>> reply_;
    std::size_t n_unread_ = 0; // the number of replies that will be discarded
    bool awaits_reply_ = false;
    bool awaits_command_ = false; // create() may wait for any length of time
    bool gone_ = false;
    std::string why_gone_;
    bool joined_ = false; // another dtrace process has started the agent
    uid_t user_ = 0;
    bool foreign_ = false;
    agent::Patience patience_;       // for a foreign agent
    std::uint64_t wait_ends_ns_ = 0; // 0 if the wait has no limit
    std::size_t n_complaints_ = 0;   // events agent_error of a foreign agent
    bool goodbye_ = false;           // the session has ended, but not the agent
};

} // namespace dt
