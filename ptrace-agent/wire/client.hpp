// SPDX-License-Identifier: MIT
// The client of the ptrace-agent, in the consumer's process.
//
//   consumer process                      agent process
//   AgentClient ──requests──> socketpair ──> Agent ──ptrace──> targets
//               <──replies, events──               └─dt_fire──> arena (shared)
//
// Each member function that sends a request waits for the reply, except expect().
// Events that arrive before the reply are kept for next_event(). A session makes these
// calls, in this order:
//
//   AgentClient agent = AgentClient::start();      early, because it forks
//   agent.set_arena(...);                          before the first plant()
//   Target t = agent.create({...}) or agent.grab(pid);
//   read /proc/<pid>/maps, add probes to the arena, agent.plant(t.pid, sites);
//   agent.resume(t.pid);                           a created target runs only now
//   poll fd(), next_event(), ... agent.detach(t.pid);
//
// A grabbed target keeps running, except during short stops in grab(), plant(),
// remove() and detach(). After the first plant(), a thread that calls dlopen() or
// dlclose() waits from the event libraries_changed until resume_after_library_change().
// The objects are mapped by then, and their constructors have not run. If the client is
// silent for ten seconds, the agent resumes the thread.
//
// A call waits while the agent works on it. If the agent neither replies nor uses
// any CPU time for agent_silence_ns, for example because a read from a target's page
// never ends, this object kills the agent, and reports that with the event agent_gone.
//
// When this object is destroyed, or when its process dies in any way, the agent
// restores the text of all targets and detaches from them. It kills a created target
// that was never resumed. The object must be used by one thread only. The consumer
// reads the target's memory itself, through /proc/<pid>/mem.
#pragma once

#include "base/fd.hpp"
#include "base/result.hpp"
#include "base/target_addr.hpp"
#include "fasttrap/further_blocks.hpp"
#include "ptrace-agent/runtime/runtime.h"

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

// How far a created target has run when create() returns (dtrace -x evaltime). Two
// kinds of programs stop at their entry point instead:
//   - a static program, for preinit
//   - a program without a C main(), such as one in Go, for postinit and main
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

struct Target {
    pid_t pid = 0;
    bool created = false; // create() started it; it is stopped until resume()
};

enum class SiteKind : std::uint8_t {
    entry,        // arg0.. = arguments, as the calling convention passes them
    ret,          // arg0 = Site::arg0 (offset in the function), arg1 = return value
    offset,       // arg0.. = the argument registers, which may contain anything
    static_probe, // arg0.. = the note's operands; Site::arg0 = index into StaticTable
    jump_out,     // as ret at an indirect jump, but Site::arg0 = index into StaticTable
};

// The contents of a static probe's note about one of its sites.
struct StaticFacts {
    // A 16-bit counter, nonzero while the probe is traced. Address 0 means that the
    // probe has no semaphore.
    TargetAddr semaphore;
    std::uint32_t first_operand = 0, n_operands = 0; // in StaticTable::operands
};
struct StaticTable {
    std::vector<StaticFacts> sites;
    std::vector<dt_operand> operands; // with addresses of the process, not of the file
};

// Returns whether Site::arg0 is an index into StaticTable.
constexpr bool has_operands(SiteKind kind)
{
    return kind == SiteKind::static_probe || kind == SiteKind::jump_out;
}

// In StaticTable, the operands of a jump_out site are the destination of the jump,
// followed by the first address and the end of each part of the function. The part with
// the function's entry comes first. The site fires if the destination is in none of the
// parts.
constexpr std::size_t operands_per_part = 2;

// Reasons why no mechanism can probe a site, each with its text for the user. `no`
// means that the site can be probed.
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
// Returns the text of the reason. Returns an empty string for `no` and for a value that
// is not in the table.
std::string_view text_of(NeverProbed never);

// One place where a probe fires. Probes that have the same address share a tracepoint.
// A ret site that is a conditional jump fires only when the jump is taken.
struct Site {
    TargetAddr at;
    std::uint32_t probe = 0; // id that dt_probe_add() returned
    SiteKind kind = SiteKind::entry;
    std::uint8_t n_expected = 0; // the number of bytes in `expected`
    NeverProbed never = NeverProbed::no;
    std::uint8_t breakpoint : 1 = 0; // gets a breakpoint if no jump is possible
    std::uint8_t no_stack : 1 = 0;   // nothing may be written below the stack pointer
    std::uint8_t pad : 6 = 0;
    // The meaning depends on the kind:
    //   ret                      the offset in the function
    //   entry                    PatchSite::loop_end
    //   static_probe, jump_out   an index into StaticTable
    std::uint64_t arg0 = 0;
    std::array<std::byte, 8> expected{}; // the file's bytes at this place
    // Limits of the bytes around the site that may be moved (see PatchSite). If first
    // and end are 0, the limits are unknown. If both equal `at`, no byte may be moved.
    TargetAddr first, end, beyond;
    FurtherBlocks further{};
    std::array<std::uint8_t, 2> pad_at_end{};
};

// An executable mapping, as it was when the client made the sites in it (proc(5),
// maps).
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
    // The target and its followed children remain targets, and programs that it spawns
    // with vfork become targets.
    all,
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
    // Sites whose mapping has been removed or replaced since the client read it. A
    // libraries_changed event reports this change, or has already reported it.
    std::vector<std::uint32_t> gone; // ascending
    // Entry sites that also fire when a loop jumps back to the function's first
    // instruction.
    std::vector<std::uint32_t> fired_by_loops;
};

// Text that a dead tracer has changed.
struct LeftText {
    TargetAddr at;
    std::vector<std::byte> now, before; // of equal length
};
// Everything that a dead tracer has left in a process.
struct LeftBehind {
    std::vector<LeftText> texts;
    // Addresses of runtimes, which may have a list of raised semaphores.
    std::vector<TargetAddr> runtimes;
    bool empty() const { return texts.empty() && runtimes.empty(); }
};

// A probe that was planted in text that has been unmapped since. Other text may be
// there now.
struct ForgottenProbe {
    TargetAddr at;
    std::uint32_t probe = 0;
    std::uint32_t pad = 0;
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
    //   execed              the argument for resume_after_library_change(), or 0 if the
    //                       process does not wait
    int status = 0;
    // For execed: the path of the program, or "" if it is not known. For given_up,
    // agent_error and agent_gone: the reason.
    std::string text;
    std::vector<ForgottenProbe> forgotten; // for libraries_changed
};

// A probe that fires at regular intervals in each running thread of the targets. arg0
// is 0, and arg1 is the program counter.
struct ProfileTimer {
    std::uint32_t probe = 0;
    std::uint32_t pad = 0;
    std::uint64_t interval_ns = 0;
};

// The maximum time for which an agent may neither reply nor use CPU time. It is shorter
// than the session's lease, because the client does not extend the lease while it
// waits.
constexpr std::uint64_t agent_silence_ns = 15'000'000'000;

class AgentClient {
public:
    // Forks the agent. The calling process should still have few threads and little
    // memory. Returns an Error if socketpair(2) or fork(2) fails.
    static Result<AgentClient> start();
    AgentClient(AgentClient&&) noexcept;
    AgentClient& operator=(AgentClient&&) noexcept;
    AgentClient(const AgentClient&) = delete;
    AgentClient& operator=(const AgentClient&) = delete;
    // Closes the socket and waits until the agent has released all targets and exited,
    // or until it has been silent for agent_silence_ns.
    ~AgentClient();

    // Sets the parts of the arena, which the agent maps next to each other. The program
    // part is read-only, and the other parts are read-write. No target maps the private
    // part, which is optional (private_bytes 0). The caller keeps the descriptors. The
    // sizes are multiples of 64 KiB.
    Result<Ok> set_arena(int program_fd, std::uint64_t program_bytes, int data_fd,
                         std::uint64_t data_bytes, int private_fd = -1,
                         std::uint64_t private_bytes = 0);

    // Starts a command, and stops it at the point that evaltime selects. The text of an
    // error names the command:
    //   Code::not_found     there is no such file
    //   Code::permission    it is not executable
    //   Code::unsupported   it is a 32-bit program
    //   Code::busy          its exec did not finish in time
    //   Code::invalid       its exec failed for another reason, or it ended before the
    //                       point that evaltime selects
    Result<Target> create(const std::vector<std::string>& argv,
                          const std::vector<EnvChange>& env, EvalTime evaltime);

    // Attaches to a process. Errors:
    //   Code::not_found     there is no such process
    //   Code::gone          it is a zombie
    //   Code::permission    attaching is forbidden; the text names the setting
    //   Code::busy          another process traces it (the text names that process),
    //                       or attaching did not finish in time
    //   Code::unsupported   it is a 32-bit process, a kernel thread, or a process with
    //                       a shadow stack
    //   Code::invalid       it is this process or the agent
    Result<Target> grab(pid_t pid);

    // Announces that n_sites sites will be planted. The caller then computes these
    // sites with n_threads threads. If another processor is idle, the agent meanwhile
    // prefaults memory for the sites. Does not wait for a reply.
    void expect(std::size_t n_sites, unsigned n_threads = 1);
    // Returns how plant() would probe each site if it planted all of them now. The
    // target is not stopped or changed. So the plan does not include refusals that
    // occur only when the runtime is loaded, such as those caused by limits of the
    // process.
    // Fails with Code::busy if the target has probes.
    Result<std::vector<SitePlan>> plan(pid_t pid, std::span<const Site> sites,
                                       Mechanism mechanism = Mechanism::automatic);
    // Plants probes. The target is stopped while breakpoints are planted. Jumps need
    // only two short stops, because the agent plans and builds them while the target
    // runs. A refused site is not an error of the call.
    //
    // `seen` lists the mappings from which the sites were made, in ascending order. The
    // agent compares them with the current mappings. If the list is empty, it compares
    // nothing.
    //
    // Fails with Code::gone if the process has exited, or has executed another program
    // that next_event() has not reported.
    Result<PlantReport> plant(pid_t pid, std::span<const Site> sites,
                              Mechanism mechanism = Mechanism::automatic,
                              std::span<const SeenText> seen = {},
                              const StaticTable& statics = {});
    // Removes probes, which are identified by address and probe. When the last probe of
    // a tracepoint is removed, the text is restored. Sites that are not planted are
    // ignored.
    Result<Ok> remove(pid_t pid, std::span<const Site> sites);

    // Follows children that the process forks after this call, while the process
    // has probes. A child, and later its own children, become targets. `what` says
    // whether they get all probes of the process or only the static ones. A process
    // that executes another program stops being a target, unless `exec` selects it.
    // If it is selected, it waits after the exec until resume_after_library_change()
    // replies to the event `execed`.
    Result<Ok> follow(pid_t pid, Follow what, FollowExec exec = FollowExec::none);

    // Restores text that a dead tracer has changed, and lowers the semaphores that it
    // has raised. Text that is no longer equal to `now` remains unchanged.
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
    // for the user about samples that were left out, or an empty string.
    Result<std::string> profile(std::span<const ProfileTimer> timers);
    // Kills a created target that will not be started after all (SIGKILL).
    Result<Ok> kill(pid_t pid);

    // Returns a descriptor to poll for reading. When it is readable, call next_event()
    // until it returns nothing. Check has_event() before you sleep, because events may
    // have arrived before a reply.
    int fd() const { return socket_.get(); }
    bool has_event() const { return !events_.empty(); }
    // Returns the next event, or nothing. Never waits. Returns an Error only if the
    // agent has sent an unexpected reply.
    Result<std::optional<AgentEvent>> next_event();

    pid_t agent_pid() const { return agent_; }
    // Returns whether the agent has died.
    bool is_gone() const { return gone_; }
    // Closes the socket. Unlike the destructor, does not wait until the agent has
    // exited.
    void hang_up() { socket_.reset(); }

private:
    AgentClient(Fd socket, pid_t agent);
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
    bool await(short events);
    void agent_died(std::string_view why);
    void close();

    Fd socket_;
    pid_t agent_ = 0;
    Fd exit_; // a pidfd of the agent; empty before Linux 5.3
    std::vector<std::byte> inbox_;
    std::deque<AgentEvent> events_;
    std::map<pid_t, std::uint32_t> n_execs_; // execs that next_event() has reported
    std::optional<std::vector<std::byte>> reply_;
    std::size_t n_unread_ = 0;    // the number of replies that will be discarded
    bool awaits_command_ = false; // create() may wait for any length of time
    bool gone_ = false;
};

} // namespace dt
