// SPDX-License-Identifier: MIT
#include "ptrace-agent/hold/launcher.hpp"

#include "base/clock_ns.hpp"
#include "process/maps.hpp"
#include "process/proc_files.hpp"
#include "ptrace-agent/hold/refusals.hpp"
#include "ptrace-agent/hold/tracing.hpp"
#include "ptrace-agent/trap/trap_mask.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <functional>
#include <sys/wait.h>
#include <unistd.h>

namespace dt::agent {

constexpr int max_steps_to_main = 64;

struct Command {
    std::vector<std::string> argv;
    std::vector<EnvChange> env;
};

static Error exec_error(const std::string& name, int error)
{
    if (error == ENOENT && access(name.c_str(), F_OK) == 0)
        return Error{Code::not_found, name + ": its interpreter was not found", error};
    if (error == ENOENT)
        return Error{Code::not_found, name + ": command not found", error};
    if (error == EACCES)
        return Error{Code::permission, name + ": not executable", error};
    return Error{Code::invalid, name + ": " + std::strerror(error), error};
}

// Returns whether the process group is orphaned (POSIX). A group is not orphaned if a
// member has a parent in the same session but in another group. This parent is usually
// the shell that started the consumer, so only the consumer's ancestors are examined.
static bool is_orphaned(pid_t group)
{
    for (pid_t member = getppid(); member > 1 && getpgid(member) == group;) {
        member =
            static_cast<pid_t>(status_number(read_proc_file(member, "status"), "PPid"));
        if (member > 0 && getsid(member) == getsid(0) && getpgid(member) != group)
            return false;
    }
    return true;
}

// Runs in the child. Restores the signal handling that the agent has changed, and waits
// until the pipe `go` is closed. Then executes the command. If that fails, writes the
// errno to the pipe `failed`.
[[noreturn]] static void become(const Command& command, pid_t group, int go, int failed)
{
    for (int signal : {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN, SIGTTOU,
                       SIGUSR1, SIGUSR2, SIGIO, SIGALRM, SIGTERM, SIGCHLD, SIGXFSZ})
        ::signal(signal, SIG_DFL);
    setpgid(0, group);
    for (const EnvChange& change : command.env) {
        if (change.value)
            setenv(change.name.c_str(), change.value->c_str(), 1);
        else
            unsetenv(change.name.c_str());
    }
    std::vector<char*> argv;
    for (const std::string& arg : command.argv)
        argv.push_back(const_cast<char*>(arg.c_str()));
    argv.push_back(nullptr);
    char byte;
    while (read(go, &byte, 1) < 0 && errno == EINTR) {
    }
    execvp(argv[0], argv.data());
    int error = errno;
    (void)!write(failed, &error, sizeof error);
    _exit(127);
}

constexpr int max_reap_ms = 2000;

static void kill_and_reap(pid_t pid)
{
    ::kill(pid, SIGKILL);
    // Gives up after max_reap_ms, because a process in an uninterruptible sleep does
    // not exit.
    for (int ms = 0; ms < max_reap_ms;) {
        WaitStatus status;
        pid_t reported = waitpid(pid, &status.raw, __WALL | WNOHANG);
        if ((reported == pid && !status.is_stopped()) ||
            (reported < 0 && errno != EINTR))
            return;
        if (reported == 0) {
            usleep(1000);
            ++ms;
        }
    }
}

struct Started {
    pid_t pid;
    WaitStatus status; // status of the stop in which the command is held
};

// Starts a child, seizes it and waits for its exec. Fails when is_late() returns true.
// The child is held at the exec event if `inside` is true, otherwise directly after
// execve(2).
static Result<Started> start_command(const Command& command, bool inside,
                                     std::uint64_t timeout_ns,
                                     const std::function<bool()>& is_late)
{
    int go[2], failed[2];
    if (pipe2(go, O_CLOEXEC) != 0)
        return errno_error("pipe");
    Fd go_read(go[0]), go_write(go[1]);
    if (pipe2(failed, O_CLOEXEC) != 0)
        return errno_error("pipe");
    Fd failed_read(failed[0]), failed_write(failed[1]);
    pid_t group = getpgid(getppid());
    // The command joins the consumer's process group. If this group is orphaned, the
    // agent joins it, too. With an agent outside the group, the group would not be
    // orphaned until the agent or the command exits. At that time, the kernel would
    // send SIGHUP to the group if one of its members is stopped.
    if (is_orphaned(group))
        setpgid(0, group);
    pid_t pid = fork();
    if (pid < 0)
        return errno_error("fork");
    if (pid == 0) {
        go_write.reset(); // otherwise become() would wait forever
        become(command, group, go_read.get(), failed_write.get());
    }
    failed_write.reset();
    if (ptrace(PTRACE_SEIZE, pid, nullptr, seize_options) != 0) {
        Error error = errno_error("seize it");
        kill_and_reap(pid);
        return error;
    }
    go_write.reset();
    bool execed = false;
    for (;;) {
        WaitStatus status;
        Mailbox::ring_in_ms(20);
        pid_t reported = waitpid(pid, &status.raw, __WALL);
        if (reported < 0 && errno == EINTR) {
            if (!is_late())
                continue;
            kill_and_reap(pid);
            return Error{Code::busy,
                         command.argv[0] +
                             ": the kernel did not complete execve(2) within " +
                             std::to_string(timeout_ns / 1'000'000'000) +
                             " s; is the program's file system reachable?"};
        }
        if (reported != pid || !status.is_stopped()) {
            int error = 0;
            if (read(failed_read.get(), &error, sizeof error) == sizeof error)
                return exec_error(command.argv[0], error);
            return Error{Code::invalid,
                         command.argv[0] +
                             ": the process exited before it executed the program"};
        }
        if (execed && status.event() == PTRACE_EVENT_STOP)
            return Started{pid, status};
        if (status.event() == PTRACE_EVENT_EXEC) {
            // No system call can be injected at this event. The next stop is after
            // execve(2), before the first instruction.
            if (inside)
                return Started{pid, status};
            execed = true;
            ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
        }
        // Deliver the signal if another process has sent one.
        resume_thread(PTRACE_CONT, pid, status.event() == 0 ? status.signal() : 0);
    }
}

Reply Launcher::create(Reader& in)
{
    Command command;
    auto evaltime = in.get<EvalTime>();
    auto n_args = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < n_args && in.ok(); ++i)
        command.argv.push_back(in.text());
    auto n_env = in.get<std::uint32_t>();
    for (std::uint32_t i = 0; i < n_env && in.ok(); ++i) {
        EnvChange change{in.text(), std::nullopt};
        bool set = in.get<std::uint8_t>() != 0;
        std::string value = in.text();
        if (set)
            change.value = std::move(value);
        command.env.push_back(std::move(change));
    }
    if (!in.ok() || command.argv.empty())
        return Error{Code::invalid,
                     "the command cannot be started: the request is truncated"};
    const std::string& name = command.argv[0];

    const std::uint64_t timeout_ns = tracees_.exec_timeout_ns(0);
    const std::uint64_t since = monotonic_ns();
    // The kernel module's probe proc:::exec-success fires when the command continues
    // from the exec event. With evaltime=exec, the command is held before this probe.
    const bool inside = evaltime == EvalTime::exec;
    auto started = start_command(command, inside, timeout_ns, [&] {
        return tracees_.sessions().check_in_wait() ||
               monotonic_ns() - since > timeout_ns;
    });
    if (!started)
        return started.error().during("start");
    pid_t pid = started->pid;
    if (auto ok = refuse_32_bit(pid, name); !ok) {
        kill_and_reap(pid);
        return ok.error().during("start");
    }
    Process& process =
        tracees_.add_process(pid, std::make_shared<AddressSpace>(pid, table_));
    process.created = true;
    process.creator = tracees_.sessions().current().number;
    process.started = false;
    process.interests[process.creator];
    process.no_events = true; // sends no events until the client knows its pid
    Thread& thread = tracees_.add_thread(process, pid);
    thread.age = ThreadAge::known;
    thread.move_to(ThreadState::handled);
    thread.held = true;
    thread.inside_exec = inside;
    thread.status = started->status;
    TrapMask::learn(thread);
    process.trap_action.known = true;
    std::string status = read_proc_file(pid, "status");
    if ((status_number(status, "SigIgn", 0, 16) & signal_bit(SIGTRAP)) != 0)
        process.trap_action.handler = 1; // inherited SIG_IGN

    if (auto arrived = run_to(process, evaltime, name); !arrived) {
        if (tracees_.find_process(pid) != nullptr)
            ::kill(pid, SIGKILL);
        return arrived.error().during("start");
    }
    tracees_.find_process(pid)->no_events = false;
    Writer out;
    out.put(pid);
    return Body(out.body());
}

Result<Ok> Launcher::run_to(Process& process, EvalTime evaltime,
                            const std::string& name)
{
    if (evaltime == EvalTime::exec) {
        // No library is mapped yet.
        StoppedWorld world(tracees_, process.space);
        linker_.watch(world);
        return Ok{};
    }
    pid_t pid = process.pid;
    auto entry = auxv_value(pid, AT_ENTRY);
    if (!entry)
        return Error{Code::io, name + ": its entry point is unknown"};
    if (evaltime == EvalTime::preinit) {
        {
            StoppedWorld world(tracees_, process.space);
            linker_.watch(world);
        }
        process.to_preinit = process.space->watched.linker.known();
        if (process.to_preinit)
            return run_until(process, TargetAddr{}, name);
        return run_until(process, {*entry}, name);
    }
    if (auto at_entry = run_until(process, {*entry}, name); !at_entry)
        return at_entry;
    {
        StoppedWorld world(tracees_, process.space);
        linker_.watch(world);
    }
    return step_to_main(process, name);
}

Result<Ok> Launcher::run_until(Process& process, TargetAddr at, const std::string& name)
{
    pid_t pid = process.pid;
    process.arrived = false;
    if (at.value != 0) {
        AddressSpace& space = *process.space;
        Tracepoint* tp = space.tracepoints.find(at);
        if (tp == nullptr) {
            std::array<std::byte, max_insn_bytes> text{};
            if (!space.read_text(at, text))
                return Error{Code::io, name + ": its text cannot be read"};
            auto insn = x86_64.decode(text, at);
            if (!insn)
                return insn.error().during(name);
            tp = &space.tracepoints.add(*insn);
            if (!space.tracepoints.write_breakpoints({tp}).empty())
                return Error{Code::io, name + ": its text cannot be written"};
        }
        tp->purpose = Tracepoint::once;
    }
    client_wait_.release_all(process);
    for (;;) {
        const Process* found = tracees_.find_process(pid);
        if (found == nullptr)
            return Error{Code::invalid, name + ": it exited before it could be traced"};
        if (found->arrived)
            return Ok{};
        if (Mailbox::rang()) {
            tracees_.sessions().receive_for_later();
            if (tracees_.sessions().has_exited())
                return Error{Code::gone, "the consumer has exited"};
        }
        tracees_.begin_turn();
        if (tracees_.any_ready())
            tracees_.handle_ready();
        else
            tracees_.collect(Wait::block);
    }
}

Result<Ok> Launcher::step_to_main(Process& process, const std::string& name)
{
    pid_t pid = process.pid;
    AddressSpace& space = *process.space;
    auto mappings = mappings_of(pid);
    std::string program = read_proc_link(pid, "exe");
    for (int step = 0; step < max_steps_to_main; ++step) {
        user_regs_struct user;
        std::array<std::byte, max_insn_bytes> text{};
        if (!get_regs(pid, user) || !space.read_original({user.rip}, text))
            break;
        auto insn = x86_64.decode(text, {user.rip});
        if (!insn || insn->flow == ControlFlow::syscall ||
            insn->flow == ControlFlow::stop)
            break; // there is no C start-up code, so the command is held here
        bool calls =
            insn->flow == ControlFlow::call || insn->flow == ControlFlow::call_indirect;
        const Mapping* main = find_mapping(mappings, {user.rdi});
        if (calls && main != nullptr && main->executable &&
            main->kernel_path() == program)
            return run_until(process, {user.rdi}, name);
        WaitStatus status;
        Waited waited = resume_thread(PTRACE_SINGLESTEP, pid, 0)
                            ? tracees_.wait_for_stop(space, pid, status)
                            : Waited::ended;
        if (waited == Waited::late)
            return Error{Code::busy, name + ": it did not reach main() in time"};
        if (waited == Waited::ended) {
            if (Thread* thread = tracees_.find_thread(pid))
                tracees_.drop_thread(*thread, status);
            return Error{Code::invalid, name + ": it exited before main()"};
        }
        if (status.event() == 0 && status.signal() != SIGTRAP) {
            // Another process has sent a signal. The agent's loop delivers it.
            Thread& thread = *tracees_.find_thread(pid);
            thread.status = status;
            thread.move_to(ThreadState::pending);
            tracees_.add_ready(pid);
            break;
        }
    }
    return Ok{};
}

} // namespace dt::agent
