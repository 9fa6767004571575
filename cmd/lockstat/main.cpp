// SPDX-License-Identifier: MIT
// lockstat(1). Measures the cost of kernel locks while a command runs, with a D program
// that uses the lockstat provider.
//
//   arguments -> D program -> enable -> run the command -> aggregations -> rows ->
//   table
#include "arguments.hpp"
#include "program.hpp"
#include "records.hpp"
#include "report.hpp"
#include "table.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

dtrace_hdl_t* volatile waiting_session = nullptr;
volatile std::sig_atomic_t interrupted = 0;

void on_signal(int sig)
{
    if (sig != SIGCHLD)
        interrupted = 1;
    if (waiting_session != nullptr)
        dtrace_wakeup(waiting_session);
}

void catch_signals(dtrace_hdl_t* session)
{
    waiting_session = session;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (int sig : {SIGCHLD, SIGINT, SIGTERM, SIGHUP})
        sigaction(sig, &action, nullptr);
}

double now()
{
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

void set(dtrace_hdl_t* session, const char* option, const std::string& value)
{
    if (dtrace_setopt(session, option, value.empty() ? nullptr : value.c_str()) != 0)
        die(session, "failed to set -x %s", option);
}

// Sets the options of the session. The aggregation buffer has room for the number of
// records given with -n. The keys of up to three aggregations contain the stack, with 8
// bytes for each frame.
void set_options(dtrace_hdl_t* session, const Arguments& args)
{
    unsigned deepest = 0;
    for (const Event& event : all_events())
        if (args.events.test(static_cast<std::size_t>(event.id)))
            deepest = std::max(deepest, stack_frames(args, event));
    const unsigned long values = args.detail >= Detail::Histogram ? 1300 : 200;
    const unsigned long n_bytes = args.n_records * (values + 3 * 8 * deepest);
    set(session, "aggsize", std::to_string(std::max(n_bytes, 1ul << 20)));
    set(session, "dynvarsize", "16m");
    set(session, "bufsize", "64k");
    for (const auto& [name, value] : args.options)
        set(session, name.c_str(), value);
}

void enable(dtrace_hdl_t* session, const Arguments& args)
{
    std::vector<Range> locks;
    for (const Place& place : args.locks)
        locks.push_back(resolve(session, place));
    const std::string text = program_text(args, locks);
    if (args.program_shown)
        std::fputs(text.c_str(), stderr);
    dtrace_prog_t* prog = dtrace_program_strcompile(
        session, text.c_str(), DTRACE_PROBESPEC_NAME, 0, 0, nullptr);
    if (prog == nullptr)
        die(session, "failed to compile the D program");
    dtrace_proginfo_t info{};
    if (dtrace_program_exec(session, prog, &info) != 0)
        die(session, "failed to enable the D program");
}

struct Command {
    pid_t pid = -1;
    int go = -1; // pipe; the process executes the command when it reads a byte
};

// Forks the process that will execute the command. The process first waits for a byte
// from the pipe. The fork is not measured, because probes fire only after dtrace_go().
Command prepare(const Arguments& args)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        die(nullptr, "cannot create a pipe: %s", std::strerror(errno));
    Command command{fork(), ends[1]};
    if (command.pid < 0)
        die(nullptr, "cannot fork: %s", std::strerror(errno));
    if (command.pid == 0) {
        char byte = 0;
        if (read(ends[0], &byte, 1) != 1)
            _exit(127);
        execvp(args.command[0], args.command.data());
        say("cannot run %s: %s", args.command[0], std::strerror(errno));
        _exit(127);
    }
    close(ends[0]);
    return command;
}

int on_drop(const dtrace_dropdata_t* data, void*)
{
    say("%s", data->dtdda_msg);
    return DTRACE_HANDLE_OK;
}

int on_error(const dtrace_errdata_t* data, void*)
{
    say("%s", data->dteda_msg);
    return DTRACE_HANDLE_OK;
}

// Waits until the command has exited. Forwards an interrupt to the command as SIGTERM.
// Returns the status from waitpid().
int watch(dtrace_hdl_t* session, const Command& command)
{
    int status = 0;
    bool sent = false;
    while (waitpid(command.pid, &status, WNOHANG) == 0) {
        dtrace_sleep(session);
        if (interrupted != 0 && !sent) {
            kill(command.pid, SIGTERM);
            sent = true;
        }
        if (dtrace_work(session, stdout, nullptr, nullptr, nullptr) ==
            DTRACE_WORKSTATUS_ERROR)
            die(session, "processing aborted");
    }
    return status;
}

FILE* open_output(const Arguments& args)
{
    if (args.output.empty())
        return stdout;
    FILE* file = std::fopen(args.output.c_str(), "we");
    if (file == nullptr)
        die(nullptr, "failed to open %s: %s", args.output.c_str(),
            std::strerror(errno));
    return file;
}

} // namespace

int main(int argc, char* argv[])
{
    const Arguments args = parse_arguments(argc, argv);
    FILE* out = open_output(args);
    int error = 0;
    dtrace_hdl_t* session = dtrace_open(DTRACE_VERSION, 0, &error);
    if (session == nullptr)
        die(nullptr, "failed to initialize dtrace: %s", dtrace_errmsg(nullptr, error));
    set_options(session, args);
    std::vector<Range> functions;
    for (const Place& place : args.functions)
        functions.push_back(resolve(session, place));
    enable(session, args);
    dtrace_handle_drop(session, on_drop, nullptr);
    dtrace_handle_err(session, on_error, nullptr);

    const Command command = prepare(args);
    catch_signals(session);
    if (dtrace_go(session) != 0)
        die(session, "could not enable tracing");
    const double begun = now();
    if (write(command.go, "", 1) != 1)
        die(nullptr, "cannot start %s: %s", args.command[0], std::strerror(errno));
    const int status = watch(session, command);
    if (dtrace_stop(session) != 0)
        die(session, "could not stop tracing");
    const double seconds = now() - begun;
    if (WIFSIGNALED(status) && interrupted == 0)
        say("warning: %s was killed by signal %d", args.command[0], WTERMSIG(status));
    else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        say("warning: %s exited with code %d", args.command[0], WEXITSTATUS(status));

    dtrace_work(session, stdout, nullptr, nullptr, nullptr);
    Records records(session, args, std::move(functions));
    if (dtrace_aggregate_snap(session) != 0 || records.take() != 0)
        die(session, "failed to read the aggregations");
    for (const Event& event : all_events())
        if (args.events.test(static_cast<std::size_t>(event.id)))
            print_rows(out, args, event, records.rows(event), seconds);
    // ferror() reports whether an earlier write failed and output was lost.
    if (std::fflush(out) != 0 || std::ferror(out) != 0)
        die(nullptr, "failed to write output: %s", std::strerror(errno));
    dtrace_close(session);
    return 0;
}
