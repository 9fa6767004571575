// SPDX-License-Identifier: MIT
// The consumer's end of the ptrace-agent.
//
//   consumer process                      agent process
//   AgentClient ──requests──> socketpair ──> Agent ──ptrace──> targets
//               <──replies, events──               └─dt_fire──> arena (shared)
//
// Every member function is one request and waits for its reply; events that arrive
// meanwhile are kept for next_event(). The order of a session:
//
//   AgentClient agent = AgentClient::start();      early: it forks
//   agent.set_arena(...);                          before the first plant()
//   Target t = agent.create({...}) or agent.grab(pid);
//   read /proc/<pid>/maps, add probes to the arena, agent.plant(t.pid, sites);
//   agent.resume(t.pid);                           a created target runs only now
//   poll fd(), next_event(), ... agent.detach(t.pid);
//
// A grabbed target runs all the time, but for the moments of grab(), plant(), remove()
// and detach(). From the first plant() on, a target whose libraries changed waits, from
// the event until resume_after_library_change(), in the thread that called dlopen() or dlclose():
// after the objects are mapped, before their constructors run. It waits for ten seconds of
// silence at most.
//
// When this object goes away, or its process dies in whatever way, the agent restores
// the text of all targets and detaches; a created target that was never resumed is
// killed. Used by one thread. Reading the target's memory needs no request: the
// consumer reads /proc/<pid>/mem itself.
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

// How far a created target has run when create() returns (dtrace -x evaltime).
enum class EvalTime : std::uint8_t {
    exec,     // nothing but the kernel's work: no library is mapped
    preinit,  // libraries mapped and relocated, no constructor has run
    postinit, // constructors have run; at the first instruction of main()
    main,     // the same point on Linux, where nothing runs between the two
};
// A static program has no preinit: it is taken at its entry point. A program without
// a C main (Go, hand-written) is taken at its entry point for postinit and main.

struct EnvChange {
    std::string name;
    std::optional<std::string> value; // none: unset
};

struct Target {
    pid_t pid = 0;
    bool created = false; // by create(): stopped until resume()
};

enum class SiteKind : std::uint8_t {
    entry,        // arg0.. as the calling convention passes them
    ret,          // arg0 = Site::arg0 (offset in the function), arg1 = return value
    offset,       // as entry: the registers that carry arguments, whatever is in them
    static_probe, // arg0.. are where its note says; Site::arg0 = index into StaticTable
    jump_out,     // ret at an indirect jump; Site::arg0 = index into StaticTable
};

// What the note of a static probe says about one of its sites.
struct StaticFacts {
    TargetAddr semaphore; // 16 bits, not 0 while somebody traces; 0: there is none
    std::uint32_t first_operand = 0, n_operands = 0;
};
struct StaticTable {
    std::vector<StaticFacts> sites;
    std::vector<dt_operand> operands; // addresses are the process', not the file's
};

constexpr bool has_operands(SiteKind kind)
{
    return kind == SiteKind::static_probe || kind == SiteKind::jump_out;
}

// A jump_out site's operands in StaticTable: the jump's destination, then the first
// address and the end of each part of the function, beginning with the part that has
// the entry. The site fires if the destination is in none of them.
constexpr std::size_t operands_per_part = 2;

// Why a place gets no probe by any mechanism.
// clang-format off
#define DT_NEVER_PROBED(X)                                                             \
    X(no,            "")                                                               \
    X(restartable,   "each stop would begin the restartable sequence again, forever")  \
    X(no_known_code, "nothing that is known to be code leads there; it may be data")
// clang-format on
enum class NeverProbed : std::uint8_t {
#define X(name, text) name,
    DT_NEVER_PROBED(X)
#undef X
};
// Returns the reason, or an empty text for `no` and for a value that is not in the table.
std::string_view text_of(NeverProbed never);

// One place where a probe fires. Several probes may name one address; they share a
// tracepoint. A ret site that is a conditional jump fires only when it is taken.
struct Site {
    TargetAddr at;
    std::uint32_t probe = 0; // dt_probe_add()'s id
    SiteKind kind = SiteKind::entry;
    std::uint8_t n_expected = 0; // bytes of expected that are set, 0: not compared
    NeverProbed never = NeverProbed::no;
    std::uint8_t breakpoint : 1 = 0; // gets a breakpoint where no jump can stand
    std::uint8_t no_stack : 1 = 0;   // nothing may be written below the stack pointer
    std::uint8_t pad : 6 = 0;
    // For ret: the offset in the function. For entry: PatchSite::loop_end.
    std::uint64_t arg0 = 0;
    std::array<std::byte, 8> expected{}; // what the file has at this place
    // How far the bytes around may be moved, as PatchSite has it. Both 0: not known;
    // both at: not at all.
    TargetAddr first, end, beyond;
    FurtherBlocks further{};
    std::array<std::uint8_t, 2> pad_at_end{};
};

// Executable memory as the client saw it (proc(5), maps) when it made sites of it.
struct SeenText {
    TargetAddr begin, end;
    std::uint64_t offset = 0; // in the file
    std::uint32_t major = 0, minor = 0;
    std::uint64_t inode = 0; // 0: anonymous
};

// Which probes forked children have.
enum class Follow : std::uint8_t { none, statics, all };

// Which processes stay targets when they execute another program.
enum class FollowExec : std::uint8_t {
    none,
    itself, // the target, but not its children
    all,    // the target and the children that are followed or spawned
};

// How a site fires (dtrace -x mechanism).
enum class Mechanism : std::uint8_t {
    automatic, // a jump into the target's runtime; breakpoints where that cannot be put
    jump,      // or not at all
    int3,      // a breakpoint that the agent serves
    uprobe,    // in the kernel; the agent only watches libraries
};

// No jumps, and nothing in the target for them?
constexpr bool by_traps(Mechanism mechanism)
{
    return mechanism == Mechanism::int3 || mechanism == Mechanism::uprobe;
}

// What planting would make of a site.
struct SitePlan {
    enum Form : std::uint8_t { jump, breakpoint, refused } form = refused;
    std::string text; // of a jump: which; else why there is none
};

struct Refusal {
    std::uint32_t site = 0; // index in the span given to plant()
    std::string reason;     // a sentence's end: "the instruction is int3"
};

struct PlantReport {
    std::uint32_t n_planted = 0;      // sites; a refused one is not counted
    std::uint32_t n_tracepoints = 0;  // of the target, afterwards
    std::vector<Refusal> refused;     // ascending by site
    std::vector<Refusal> breakpoints; // ascending by site; why each has no jump
    // Sites where something else is mapped now: a libraries_changed event tells of that, or
    // has told.
    std::vector<std::uint32_t> gone; // ascending
    // Entry sites that also fire when a loop jumps back to the function's first
    // instruction.
    std::vector<std::uint32_t> fired_by_loops;
};

struct LeftText {
    TargetAddr at;
    std::vector<std::byte> now, before; // as many of each
};
struct LeftBehind {
    std::vector<LeftText> texts;
    std::vector<TargetAddr>
        runtimes; // images, which may say what semaphores are raised
    bool empty() const { return texts.empty() && runtimes.empty(); }
};

// A probe that was planted at a place whose text went since, whatever is there now.
struct ForgottenProbe {
    TargetAddr at;
    std::uint32_t probe = 0;
    std::uint32_t pad = 0;
};

struct AgentEvent {
    enum Kind : std::uint8_t {
        exited,            // status is as of waitpid(2); nothing is left to do
        execed,            // a new program: all its probes are gone
        libraries_changed, // to be answered by resume_after_library_change()
        forked,            // child runs with clean text, or is followed
        given_up, // it kept the agent waiting and is not traced any more; text says why
        agent_error, // text tells; pid may be 0
        agent_gone,  // the agent died; last event, fd() is closed
    } kind = exited;
    pid_t pid = 0;
    pid_t child = 0; // of forked
    // Of exited; of forked: 1 when the child is a target from now on; of libraries_changed:
    // for resume_after_library_change(); of execed likewise, and 0: it runs on.
    int status = 0;
    std::string text; // of execed: the program's path, "" if it is not known
    std::vector<ForgottenProbe> forgotten; // of libraries_changed
};

// A probe that fires at an interval for each thread of the targets that is running:
// arg0 is 0, arg1 the program counter.
struct ProfileTimer {
    std::uint32_t probe = 0;
    std::uint32_t pad = 0;
    std::uint64_t interval_ns = 0;
};

class AgentClient {
public:
    // Forks the agent. The calling process should have few threads and little memory.
    static Result<AgentClient> start();
    AgentClient(AgentClient&&) noexcept;
    AgentClient& operator=(AgentClient&&) noexcept;
    AgentClient(const AgentClient&) = delete;
    AgentClient& operator=(const AgentClient&) = delete;
    ~AgentClient(); // closes the socket and waits until the agent has let go of all

    // Sets the parts of the arena, which the agent maps one after the other: the
    // program part read-only, the others read-write. No target maps the private part;
    // private_bytes is 0 if there is none. The descriptors stay the caller's. The sizes
    // are multiples of 64 KiB.
    Result<Ok> set_arena(int program_fd, std::uint64_t program_bytes, int data_fd,
                         std::uint64_t data_bytes, int private_fd = -1,
                         std::uint64_t private_bytes = 0);

    // Code::not_found, permission (not executable), unsupported (32-bit), invalid
    // (ended before the point of evaltime); the text names the command.
    Result<Target> create(const std::vector<std::string>& argv,
                          const std::vector<EnvChange>& env, EvalTime evaltime);

    // Code::not_found (no such process), gone (a zombie), permission (with the setting that
    // forbids it), busy (which process traces it), unsupported (32-bit, kernel thread), invalid
    // (ourselves).
    Result<Target> grab(pid_t pid);

    // So many sites are about to be planted: memory for them is got while the caller, with
    // so many threads, makes them, if a processor is idle. Nothing is waited for.
    void expect(std::size_t n_sites, unsigned n_threads = 1);
    // What plant() would do now with all these, in their order, by the same plan. The
    // target runs on and nothing of it is changed. What only shows when the runtime is
    // put into it (its limits, say) is not foreseen. Code::busy: probes are planted.
    Result<std::vector<SitePlan>> plan(pid_t pid, std::span<const Site> sites,
                                       Mechanism mechanism = Mechanism::automatic);
    // For jumps the target stands still twice, shortly: what is planted is planned and built
    // while it runs; for breakpoints it stands still meanwhile. A refused site is no error of the call.
    // seen: what the sites were made from, ascending; empty: nothing is compared.
    // Code::gone when it ended, or runs another program than next_event() told of.
    Result<PlantReport> plant(pid_t pid, std::span<const Site> sites,
                              Mechanism mechanism = Mechanism::automatic,
                              std::span<const SeenText> seen = {},
                              const StaticTable& statics = {});
    // By address and probe; the last probe of a tracepoint restores the text. Sites
    // that are not planted are passed over.
    Result<Ok> remove(pid_t pid, std::span<const Site> sites);

    // From now on children of it that are forked while it has probes are targets with the
    // same probes, or the static ones of them, and so are their children, each until it execs.
    // A process that `exec` selects stays a target when it executes a program, and then
    // waits for an answer to the event.
    Result<Ok> follow(pid_t pid, Follow what, FollowExec exec = FollowExec::none);

    // Text that a tracer which died left behind, and what belongs there. What is no longer
    // `now` is left alone.
    Result<Ok> put_back(pid_t pid, const LeftBehind& left);

    Result<Ok> resume(pid_t pid); // a created target; no effect on a running one
    // change: the event's status.
    Result<Ok> resume_after_library_change(pid_t pid, int change);
    // Every byte as it was, every thread untraced. Code::gone when it died before.
    Result<Ok> detach(pid_t pid);
    // Replaces the timers set before; an empty list ends sampling.
    Result<Ok> profile(std::span<const ProfileTimer> timers);
    // SIGKILL, for a created target that shall not run after all.
    Result<Ok> kill(pid_t pid);

    // Poll it for reading, then call next_event() until it says nothing. Check
    // has_event() before sleeping: a reply may have brought events along.
    int fd() const { return socket_.get(); }
    bool has_event() const { return !events_.empty(); }
    // Never waits. An error only when the agent's words make no sense.
    Result<std::optional<AgentEvent>> next_event();

    pid_t agent_pid() const { return agent_; }

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
    Result<Ok> receive(bool wait); // one read into inbox_
    bool take_message();           // inbox_ to events_ or reply_
    void agent_died();
    void close();

    Fd socket_;
    pid_t agent_ = 0;
    std::vector<std::byte> inbox_;
    std::deque<AgentEvent> events_;
    std::map<pid_t, std::uint32_t> n_execs_; // that next_event() told of
    std::optional<std::vector<std::byte>> reply_;
    std::size_t n_unread_ = 0; // replies that nobody waits for
    bool gone_ = false;
};

} // namespace dt
