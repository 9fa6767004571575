// SPDX-License-Identifier: MIT
// dtruss(1). Prints the system calls of processes.
//
//   arguments -> D program -> enable -> records -> call_text() -> lines
//
// The lines are printed on stderr, so that they do not mix with the output of the
// command. A call is printed when it has returned. execve(2) is printed when the new program
// begins, or when the call has failed.
#include "arguments.hpp"
#include "format.hpp"
#include "program.hpp"
#include "report.hpp"
#include "summary.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

namespace {

dtrace_hdl_t* volatile waiting_session = nullptr;
volatile std::sig_atomic_t interrupted = 0;

void on_signal(int)
{
    interrupted = 1;
    if (waiting_session != nullptr)
        dtrace_wakeup(waiting_session);
}

void catch_signals(dtrace_hdl_t* session)
{
    waiting_session = session;
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    for (int sig : {SIGINT, SIGTERM, SIGHUP})
        sigaction(sig, &action, nullptr);
}

class Printer {
public:
    explicit Printer(const Arguments& args) : args_(args) {}

    static int on_probe(const dtrace_probedata_t* data, void* self)
    {
        static_cast<Printer*>(self)->begin(*data);
        return DTRACE_CONSUME_THIS;
    }
    static int on_record(const dtrace_probedata_t* data, const dtrace_recdesc_t* record,
                         void* self)
    {
        return static_cast<Printer*>(self)->add(*data, record);
    }

private:
    void begin(const dtrace_probedata_t& data)
    {
        call_ = {};
        call_.name = data.dtpda_pdesc->dtpd_func;
        n_numbers_ = 0;
        is_printed_ = false;
    }

    int add(const dtrace_probedata_t& data, const dtrace_recdesc_t* record)
    {
        // If there is a stack, it is the last record.
        if (record == nullptr ||
            (args_.stacks && n_numbers_ == n_numbers &&
             call_.memory.size() + n_numbers + 1 ==
                 static_cast<std::size_t>(data.dtpda_edesc->dtepd_nrecs))) {
            print();
            return DTRACE_CONSUME_THIS; // libdtrace prints the stack
        }
        const char* at = data.dtpda_data + record->dtrd_offset;
        if (n_numbers_ < n_numbers)
            std::memcpy(&numbers_[n_numbers_++], at, sizeof numbers_[0]);
        else
            call_.memory.emplace_back(at, record->dtrd_size);
        return DTRACE_CONSUME_NEXT;
    }

    void print()
    {
        if (std::exchange(is_printed_, true) || n_numbers_ < n_numbers)
            return;
        std::copy_n(numbers_.begin() + 2, call_.arguments.size(),
                    call_.arguments.begin());
        call_.result = static_cast<std::int64_t>(numbers_[8]);
        call_.error = static_cast<int>(numbers_[9]);
        const std::uint64_t tid = numbers_[1];
        const bool is_exec = call_.name == "execve" || call_.name == "execveat";
        switch (numbers_[0]) {
        case record_signal:
            return print_line(signal_text(call_.arguments));
        case record_executed: {
            const auto begun = executing_.extract(tid);
            return print_line(begun.empty() ? "execve(?) = 0"
                                            : begun.mapped() + " = 0");
        }
        case record_entry:
            if (is_exec) {
                executing_[tid] = call_text(call_);
                return;
            }
            return print_line(call_text(call_) + " = ?");
        default:
            break;
        }
        const auto begun = executing_.extract(tid);
        print_line((is_exec && !begun.empty() ? begun.mapped() : call_text(call_)) +
                   " = " + result_text(call_));
    }

    void print_line(const std::string& text)
    {
        const std::uint64_t began = numbers_[10], now = numbers_[11];
        if (first_ == 0)
            first_ = began != 0 ? began : now;
        if (args_.ids)
            std::fprintf(stderr, "[pid %5llu] ",
                         static_cast<unsigned long long>(numbers_[1]));
        auto print_us = [](std::uint64_t ns) {
            std::fprintf(stderr, "%8llu ", static_cast<unsigned long long>(ns / 1000));
        };
        if (args_.relative)
            print_us((began != 0 ? began : now) - first_);
        if (args_.elapsed)
            print_us(began != 0 ? now - began : 0);
        if (args_.cpu)
            print_us(numbers_[12]);
        std::fprintf(stderr, "%s\n", text.c_str());
    }

    const Arguments& args_;
    RecordedCall call_;
    std::array<std::uint64_t, n_numbers> numbers_{};
    std::size_t n_numbers_ = 0;
    bool is_printed_ = false;
    std::uint64_t first_ = 0;                        // the time of the first line
    std::map<std::uint64_t, std::string> executing_; // by thread id
};

int on_drop(const dtrace_dropdata_t* data, void* lost)
{
    say("%s", data->dtdda_msg);
    *static_cast<bool*>(lost) = true;
    return DTRACE_HANDLE_OK;
}

// The memory of an argument could not be read. The program then records the call without
// it.
int on_error(const dtrace_errdata_t*, void*)
{
    return DTRACE_HANDLE_OK;
}

// Called when a target exits. Followed children are targets, too.
void on_process(ps_prochandle* process, const char* message, void* left)
{
    if (message != nullptr)
        say("%s", message);
    else
        std::erase(*static_cast<std::vector<ps_prochandle*>*>(left), process);
}

void set(dtrace_hdl_t* session, const char* option, const std::string& value)
{
    if (dtrace_setopt(session, option, value.c_str()) != 0)
        die(session, "failed to set %s to %s", option, value.c_str());
}

void enable(dtrace_hdl_t* session, const std::string& text)
{
    dtrace_prog_t* prog = dtrace_program_strcompile(
        session, text.c_str(), DTRACE_PROBESPEC_NAME, 0, 0, nullptr);
    dtrace_proginfo_t info{};
    if (prog == nullptr || dtrace_program_exec(session, prog, &info) != 0)
        die(session, "failed to enable the D program");
}

} // namespace

int main(int argc, char* argv[])
{
    const Arguments args = parse_arguments(argc, argv);
    int error = 0;
    dtrace_hdl_t* session = dtrace_open(DTRACE_VERSION, 0, &error);
    if (session == nullptr)
        die(nullptr, "failed to initialize dtrace: %s", dtrace_errmsg(nullptr, error));
    set(session, "bufsize", args.buffer_size);
    set(session, "strsize", "1k");
    set(session, "temporal", "1");
    set(session, "evaltime", "exec");
    if (args.follow)
        set(session, "follow", "exec");
    std::vector<ps_prochandle*> targets;
    for (const pid_t pid : args.pids)
        targets.push_back(dtrace_proc_grab(session, pid, 0));
    if (!args.command.empty())
        targets.push_back(dtrace_proc_create(session, args.command[0],
                                             args.command.data(), nullptr, nullptr));
    if (targets.back() == nullptr)
        die(session, "failed to trace %s",
            args.command.empty() ? "the process" : args.command[0]);
    enable(session, program_text(args));
    bool lost = false;
    std::vector<ps_prochandle*> left = targets;
    dtrace_handle_drop(session, on_drop, &lost);
    dtrace_handle_err(session, on_error, nullptr);
    dtrace_handle_proc(session, on_process, &left);
    catch_signals(session);
    std::setvbuf(stderr, nullptr, _IOFBF, 1 << 16);
    if (dtrace_go(session) != 0)
        die(session, "could not enable tracing");
    for (ps_prochandle* target : targets)
        dtrace_proc_continue(session, target);
    Printer printer(args);
    auto work = [&] {
        const auto status = dtrace_work(session, stderr, Printer::on_probe,
                                        Printer::on_record, &printer);
        if (status == DTRACE_WORKSTATUS_ERROR)
            die(session, "processing aborted");
        std::fflush(stderr);
        return status;
    };
    while ((!left.empty() || dtrace_proc_followed(session) != 0) && interrupted == 0) {
        dtrace_sleep(session);
        if (work() == DTRACE_WORKSTATUS_DONE)
            break;
    }
    if (dtrace_stop(session) != 0)
        die(session, "could not stop tracing");
    work();
    if (args.counts)
        print_summary(session);
    const bool failed = std::fflush(stderr) != 0 || std::ferror(stderr) != 0;
    dtrace_close(session);
    return lost || failed ? 1 : 0;
}
