// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/attendance.hpp"

#include "base/clock_ns.hpp"
#include "base/pidfd.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/confine/confinement.hpp"
#include "ptrace-agent/hold/deferred_signals.hpp"
#include "ptrace-agent/hold/forked_child.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/inject/our_code.hpp"
#include "ptrace-agent/runtime/image.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <set>
#include <sys/syscall.h>
#include <unistd.h>

namespace dt::agent {

constexpr std::uint64_t look_ns = 200'000'000;
// The pause after an attempt to detach that found a thread in the engine.
constexpr std::uint64_t retry_ns = 20'000'000;
constexpr unsigned max_tries = 25;
// The pause before why_attached() is called again.
constexpr std::uint64_t recheck_ns = 2'000'000'000;
constexpr std::uint64_t max_idle_ns = 300'000'000'000;

bool may_fault(const Instruction& insn)
{
    const bool one_byte = insn.encoding == Encoding::legacy && insn.opcode_map == 0;
    auto is_in = [&insn](unsigned first, unsigned last) {
        return insn.opcode >= first && insn.opcode <= last;
    };
    if (one_byte && (is_in(0x6c, 0x6f) || is_in(0xa0, 0xa7) || is_in(0xaa, 0xaf) ||
                     is_in(0xd7, 0xd7) || is_in(0xf6, 0xf7) || is_in(0xcc, 0xce)))
        return true; // string instructions, absolute addresses, xlat, div, traps
    if (!insn.has_memory)
        return false;
    const bool is_lea = one_byte && insn.opcode == 0x8d;
    const bool is_nop =
        insn.encoding == Encoding::legacy && insn.opcode_map == 1 && is_in(0x18, 0x1f);
    const bool on_stack =
        insn.memory.base == Reg::rsp && insn.memory.index == Reg::none;
    return !is_lea && !is_nop && !on_stack;
}

// Returns whether a moved instruction may fault.
static bool any_may_fault(const AddressSpace& space)
{
    for (TargetAddr window : space.patches.windows()) {
        const std::span<const std::byte> text =
            space.patches.at(window)->patch.original;
        for (std::size_t at = 0; at < text.size();) {
            auto insn = x86_64.decode(text.subspan(at), window + at);
            // A punned window ends with a part of an instruction that is not moved.
            if (!insn)
                break;
            if (may_fault(*insn))
                return true;
            at += insn->length;
        }
    }
    return false;
}

// Returns whether the program handles a signal that an instruction can raise.
static bool handles_faults(const std::string& status)
{
    const std::uint64_t faults = signal_bit(SIGSEGV) | signal_bit(SIGBUS) |
                                 signal_bit(SIGFPE) | signal_bit(SIGILL) |
                                 signal_bit(SIGTRAP);
    return (status_number(status, "SigCgt", 0, 16) & faults) != 0;
}

// Returns whether a debugger's breakpoint at an instruction that a jump overwrites leaves
// the jump unchanged. Breakpoints at the start of a window do no harm, because the
// debugger restores the jump before a thread executes it.
static bool bear_breakpoints(const Patches& patches)
{
    for (TargetAddr window : patches.windows()) {
        const Patch& patch = patches.at(window)->patch;
        if (patch.form != PatchForm::plain)
            return false;
        for (const Moved& moved : patch.moved) {
            const std::uint64_t offset = moved.from - patch.at;
            if (offset != 0 && offset < x86_64.jump_bytes &&
                patch.text[offset] != std::byte{x86_64.trap[0]})
                return false;
        }
    }
    return true;
}

// Returns whether compiled code that runs alone fires all probes of a site. The site of a
// session that has ended fires none.
static bool fires_alone(const AddressSpace& space, std::uint32_t site)
{
    const dt_rt_config& config = space.runtime.config();
    if (config.sites[site].code == (space.runtime.image + runtime_header().skip).value)
        return true;
    for (std::uint32_t n = 0; n < DT_RT_MAX_SITES; ++n) {
        if (!space.native.runs_alone({config.sites[site].code}))
            return false;
        site = config.sites[site].next;
        if (site == 0)
            return true;
    }
    return false;
}

bool works_alone(const AddressSpace& space, const Tracepoint& tp)
{
    if (!tp.site || !std::ranges::all_of(tp.links, [&space](std::uint32_t link) {
            return fires_alone(space, link);
        }))
        return false;
    // A thread that loads a library, or prepares a tracer, summons the agent.
    if (tp.is_own() && tp.firings.empty())
        return true;
    return tp.purpose == Tracepoint::fires && fires_alone(space, *tp.site);
}

// The tests of tests/system/test_idle.py cause most of these conditions.
std::string_view Attendance::why_attached(const AddressSpace& space) const
{
    const Process* process = tracees_.find_process(space.owner());
    if (process == nullptr || process->space.get() != &space || !process->is_target())
        return "it is not a target";
    for (const auto& [session, interest] : process->interests) {
        const AgentSession* of = tracees_.sessions().find(session);
        if (of == nullptr || !of->releases)
            return "the session does not use -x release=idle";
        if (!interest.planted || interest.by_kernel)
            return "it has no jumps yet";
        if (interest.follow != Follow::none || interest.follow_exec != FollowExec::none)
            return "the session follows its children or its next program";
        if (interest.has_task_probes())
            return "the session has probes for the events of its tasks";
        if (sampler_.is_sampling(session))
            return "the session has profile probes";
    }
    if (client_wait_.is_awaited(*process))
        return "dtrace has not answered a library change";
    if (process->interests.size() != 1)
        return "several sessions trace it";
    if (is_confined())
        return "the agent is confined";
    if (process->created || process->no_events)
        return "dtrace has started it, or releases it";
    if (space.away.has_forked)
        return "it forks";
    if (space.rescue.installed())
        return "a handler of dtrace is installed for its breakpoints";
    const RuntimeMap& runtime = space.runtime;
    if (runtime.image.value == 0 || !runtime.doorbells.are_armed() ||
        runtime.doorbells.tampered())
        return "its threads cannot summon the agent";
    for (const auto& [pid, other] : tracees_.processes())
        if (other->space.get() == &space && other.get() != process)
            return "another process shares its memory";
    const std::string status = read_proc_file(space.owner(), "status");
    if (status_number(status, "Seccomp") != 0)
        return "it runs under seccomp";
    for (const auto& [tid, thread] : process->threads)
        if (thread->leaving != Leaving::no || thread->held || thread->late_call ||
            thread->in_vfork || thread->changes_base || thread->gs_key != 0 ||
            thread->running_out || has_deferred(*thread) ||
            !thread->trap_handlers.empty())
            return "one of its threads needs the agent";
    for (const Tracepoint* tp : space.tracepoints.all())
        if (!works_alone(space, *tp))
            return "a probe has a breakpoint or needs the engine";
    if (!bear_breakpoints(space.patches))
        return "a debugger's breakpoint could change a jump";
    if (handles_faults(status) && any_may_fault(space))
        return "the program handles faults, and a moved instruction may fault";
    return {};
}

std::vector<std::shared_ptr<AddressSpace>> Attendance::spaces() const
{
    std::set<std::shared_ptr<AddressSpace>> all;
    for (const auto& [pid, process] : tracees_.processes())
        all.insert(process->space);
    return {all.begin(), all.end()};
}

Reply Attendance::set_release(Reader& in)
{
    const bool releases = in.get<bool>();
    if (!in.ok())
        return Error{Code::invalid, "release idle targets: the request is truncated"};
    tracees_.sessions().current().releases = releases;
    return Body{};
}

// Returns the process that a request names. Returns 0 if it concerns all processes, and
// nothing if it concerns none.
static std::optional<pid_t> process_in(const Request& request)
{
    Reader in(request.body);
    switch (request.word) {
    case request_set_arena:
    case request_profile:
    case request_calls:
        return 0;
    case request_release: // the end of `release` attaches to all targets
        return in.get<bool>() ? std::nullopt : std::optional<pid_t>(0);
    case request_expect:
    case request_create:
    case request_confine:
        return std::nullopt;
    default:
        return in.get<pid_t>();
    }
}

Result<Ok> Attendance::begin_request(const Request& request)
{
    const std::optional<pid_t> pid = process_in(request);
    if (!pid)
        return Ok{};
    for (const auto& space : spaces()) {
        const Process* named = tracees_.find_process(*pid);
        if (*pid != 0 && (named == nullptr || named->space != space))
            continue;
        // The session's new jumps must permit the agent to detach.
        space->away.is_wanted =
            space->away.is_wanted ||
            (request.word == request_plant && tracees_.sessions().current().releases);
        if (auto attached = attach_in_time(space); !attached)
            return attached.error().during("change the probes of process " +
                                           std::to_string(space->owner()) +
                                           ", from which dtrace is detached");
    }
    return Ok{};
}

// Fails only if another tracer holds the process for too long.
Result<Ok> Attendance::attach_in_time(const std::shared_ptr<AddressSpace>& space)
{
    const std::uint64_t ends = monotonic_ns() + stop_timeout_ns;
    while (space->presence == Presence::away) {
        auto attached = attach(space);
        if (attached || attached.error().code != Code::busy)
            break; // it is attached, or not traced any more
        if (monotonic_ns() >= ends || tracees_.sessions().check_in_wait())
            return attached;
        tracees_.collect(Wait::a_while);
    }
    return Ok{};
}

bool Attendance::any_releases() const
{
    return std::ranges::any_of(tracees_.sessions().all(),
                               [](const auto& session) { return session->releases; });
}

void Attendance::end_request()
{
    if (!any_releases())
        return;
    for (const auto& space : spaces())
        if (space->presence == Presence::attached)
            space->away.not_before_ns = std::max(space->away.not_before_ns,
                                                 monotonic_ns() + space->away.idle_ns);
    alarms_.set_if_unset(Alarms::attendance, monotonic_ns() + look_ns);
}

void Attendance::work()
{
    const bool is_due = alarms_.is_due(Alarms::attendance);
    if (is_due)
        alarms_.set(Alarms::attendance, 0);
    bool any_left = false;
    for (const auto& space : spaces()) {
        if (space->presence != Presence::attached &&
            (is_due || space->away.is_summoned))
            examine(space);
        else if (space->presence == Presence::attached && is_due)
            leave_if_idle(space);
        any_left = any_left || space->presence != Presence::attached || any_releases();
    }
    self_tracing_.work();
    if (is_due && any_left)
        alarms_.set_if_unset(Alarms::attendance, monotonic_ns() + look_ns);
}

void Attendance::leave_if_idle(const std::shared_ptr<AddressSpace>& space)
{
    AwayState& away = space->away;
    const std::uint64_t now = monotonic_ns();
    if (now < away.not_before_ns)
        return;
    if (const std::string_view why = why_attached(*space); !why.empty()) {
        away.not_before_ns = now + recheck_ns;
        return;
    }
    if (leave(space))
        return;
    ++away.n_tries;
    away.not_before_ns = now + (away.n_tries % max_tries == 0 ? recheck_ns : retry_ns);
}

// Detaches from all threads. Returns false if a thread must first leave the engine.
bool Attendance::leave(const std::shared_ptr<AddressSpace>& space)
{
    const pid_t pid = space->owner();
    Fd process = open_pidfd(pid);
    StoppedWorld world(tracees_, space, Try::again);
    const Process* target = tracees_.find_process(pid);
    if (!process || !world.in_time() || target == nullptr || target->space != space ||
        !why_attached(*space).empty() || injector_.is_stub_in_use(*space))
        return false;
    for (const Thread* thread : tracees_.threads_in(*space)) {
        user_regs_struct user;
        if (!thread->is_stopped() || !thread->is_interrupt() ||
            !get_regs(thread->tid, user) || !may_run_alone(*space, {user.rip}))
            return false;
    }
    AwayState& away = space->away;
    away.n_tries = 0;
    away.is_summoned = away.is_kept_out = false;
    space->runtime.doorbells.shut_gate();
    releaser_.leave_probes(world, std::move(process), DT_RT_AWAY);
    return true;
}

bool Attendance::attend(const std::shared_ptr<AddressSpace>& space)
{
    if (space->presence == Presence::away)
        (void)attach(space);
    return space->presence == Presence::attached;
}

// Returns whether the process still has this memory. After execve(2), another task may
// keep the memory alive, so the start of the runtime is also read from the memory that
// the process has now. Returns true if the agent may not open that memory, because then
// PTRACE_SEIZE fails, too.
static bool has_memory(const AddressSpace& space)
{
    std::array<std::byte, 64> then{}, now{};
    if (!space.read_text(space.runtime.image, then))
        return false;
    const Fd memory = open_mem(space.owner());
    if (!memory)
        return errno == EACCES || errno == EPERM;
    const auto at = static_cast<off_t>(space.runtime.image.value);
    return ::pread(memory.get(), now.data(), now.size(), at) == std::ssize(now) &&
           now == then;
}

// Attaches again. Fails with Code::busy if another tracer holds the process, and with
// another code if the process has exited or executed another program.
Result<Ok> Attendance::attach(const std::shared_ptr<AddressSpace>& space)
{
    const pid_t pid = space->owner();
    Process* process = tracees_.find_process(pid);
    if (process == nullptr || process->space != space)
        return Error{Code::gone, "it is not traced"};
    if (!has_memory(*space)) {
        examine(space);
        return Error{Code::gone, "it has exited or executed another program"};
    }
    if (self_tracing_.is_tracer_expected(*space))
        return Error{Code::busy, "it is about to be traced by a process of its own"};
    auto world = grabber_.grab_again(pid);
    process = tracees_.find_process(pid);
    if (process == nullptr)
        return Error{Code::gone, "it has exited"};
    if (process->space != space || !has_memory(*space)) {
        if (world)
            for (pid_t tid : tracees_.tids_in((*world)->space()))
                if (Thread* thread = tracees_.find_thread(tid))
                    releaser_.detach_thread(*thread, 0);
        become_dormant(*process, std::move(space->away.process));
        return Error{Code::gone, "it has executed another program"};
    }
    if (!world) {
        stay_out(*space);
        return Error{Code::busy, world.error().text};
    }
    come_back(**world);
    return Ok{};
}

// Makes threads that need the engine wait no longer, because another tracer holds the
// process. The agent attaches when that tracer has detached.
void Attendance::stay_out(AddressSpace& space)
{
    if (std::exchange(space.away.is_kept_out, true))
        return;
    // A library that is loaded now is no lost firing. come_back() reports it.
    jumps_.update_own(space);
    space.runtime.writer().announce(space.runtime.config().away, DT_RT_KEPT_OUT);
    space.runtime.doorbells.open_gate();
}

void Attendance::come_back(StoppedWorld& world)
{
    AddressSpace& space = world.space();
    AwayState& away = space.away;
    space.presence = Presence::attached;
    for (Thread* thread : tracees_.threads_in(space)) {
        TrapMask::learn(*thread);
        bases_.learn(*thread);
        if (space.reports_exits && thread->is_stopped())
            ptrace(PTRACE_SETOPTIONS, thread->tid, nullptr, options_of(*thread));
    }
    rseq_.learn_again(space);
    (void)restore_children(space);
    away.process.reset();
    if (std::exchange(away.is_summoned, false))
        away.idle_ns = std::min(2 * away.idle_ns, max_idle_ns);
    away.not_before_ns = monotonic_ns() + away.idle_ns;
    space.runtime.writer().announce(space.runtime.config().away, DT_RT_PRESENT);
    space.runtime.doorbells.open_gate();
    // A thread may have loaded a library while another tracer held the process.
    if (!std::exchange(away.is_kept_out, false))
        return;
    jumps_.update_own(space);
    client_wait_.report_libraries_changed(space.owner());
}

void Attendance::has_forked(AddressSpace& space)
{
    space.away.has_forked = true;
}

// Reports that the process has executed another program while the agent was away.
void Attendance::become_dormant(Process& process, Fd pidfd)
{
    std::shared_ptr<AddressSpace> before = std::exchange(
        process.space, std::make_shared<AddressSpace>(process.pid, table_));
    process.space->presence = Presence::dormant;
    process.space->away.process = std::move(pidfd);
    for (const auto& session : tracees_.sessions().all())
        session->arena.free_shards_of(process.pid);
    before->forget_all();
    process.trap_records = {};
    process.trap_action = {};
    ++process.n_execs;
    AgentEvent event;
    event.kind = AgentEvent::execed;
    event.pid = process.pid;
    event.text = read_proc_link(process.pid, "exe");
    tracees_.sessions().send_event(process.sessions(), event);
    for (auto& [session, interest] : process.interests)
        interest.has_other_program = true;
    if (process.any(&Interest::follow_exec, FollowExec::itself) ||
        process.any(&Interest::follow_exec, FollowExec::all))
        tracees_.report(process.pid, "it executed another program while dtrace was "
                                     "detached from it; that program is not traced");
}

void Attendance::examine(const std::shared_ptr<AddressSpace>& space)
{
    const pid_t pid = space->owner();
    Process* process = tracees_.find_process(pid);
    if (process == nullptr || process->space != space)
        return;
    if (has_exited(space->away.process)) {
        if (process->created)
            return; // waitpid(2) reports the exit (Tracees::end_untraced())
        // The kernel shows the status until the parent has reaped the process.
        constexpr int exit_code = 52; // number of the field in proc(5), stat
        const WaitStatus status{
            static_cast<int>(stat_number(read_proc_file(pid, "stat"), exit_code))};
        for (const auto& session : tracees_.sessions().all())
            session->arena.free_shards_of(pid);
        tracees_.end_process(pid, status);
        return;
    }
    if (space->presence != Presence::away)
        return;
    if (!has_memory(*space)) {
        // A process that exits has no memory before the pidfd reports the exit.
        const std::string status = read_proc_file(pid, "status");
        if (!status_field(status, "VmSize").empty())
            become_dormant(*process, std::move(space->away.process));
        return;
    }
    const bool is_needed =
        space->away.is_summoned || space->away.is_kept_out ||
        restore_children(*space) ||
        (handles_faults(read_proc_file(pid, "status")) && any_may_fault(*space));
    if (is_needed)
        (void)attach(space);
}

// Restores the text of children that were forked while the agent was away. Returns
// whether there are such children.
bool Attendance::restore_children(AddressSpace& space)
{
    std::set<pid_t> now;
    bool any = false;
    for (pid_t pid : grabber_.with_layout(space.owner())) {
        if (pid == space.owner() || tracees_.find_process(pid) != nullptr)
            continue;
        now.insert(pid);
        if (space.away.children.contains(pid))
            continue;
        switch (restore_forked_child(tracees_, space, pid)) {
        case ChildState::restored: {
            any = space.away.has_forked = true;
            AgentEvent event;
            event.kind = AgentEvent::forked;
            event.pid = space.owner();
            event.child = pid;
            if (const Process* parent = tracees_.find_process(space.owner()))
                tracees_.sessions().send_event(parent->sessions(), event);
            break;
        }
        case ChildState::no_child:
            break;
        case ChildState::not_stopped:
            any = space.away.has_forked = true;
            now.erase(pid); // the next look tries again
            break;
        }
    }
    space.away.children = std::move(now);
    return any;
}

} // namespace dt::agent
