// SPDX-License-Identifier: MIT
#include "tracing.hpp"

#include "command_words.hpp"
#include "listing.hpp"
#include "report.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

dtrace_hdl_t* volatile interrupted_session = nullptr;
volatile std::sig_atomic_t n_interrupts = 0;
volatile std::sig_atomic_t releasing = 0;
volatile int output_fd = -1, nowhere_fd = -1;

// Signals within this time count as one interrupt. timeout(1), for example, sends each
// signal to its child and to the child's process group, so dtrace receives two.
constexpr long one_interrupt_ms = 50;

// Handles an interrupt. After the first interrupt, run() stops tracing and prints all
// remaining records. After the second interrupt, output is discarded. If dtrace is
// already releasing its targets, the second interrupt also ends dtrace.
void on_signal(int)
{
    static volatile long first_ms = 0;
    const int before = errno;
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    const long now_ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
    if (n_interrupts == 0) {
        first_ms = now_ms;
        n_interrupts = 1;
    } else if (now_ms - first_ms >= one_interrupt_ms) {
        n_interrupts = 2;
        if (nowhere_fd >= 0)
            dup2(nowhere_fd, output_fd);
    }
    // The agent continues to release the targets after this process has exited.
    if (releasing != 0 && n_interrupts > 1) {
        static constexpr char text[] = "dtrace: interrupted again: the ptrace-agent "
                                       "continues to release the targets\n";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(1);
    }
    if (interrupted_session != nullptr)
        dtrace_wakeup(interrupted_session);
    errno = before;
}

// Formats a size in the form that -b takes, for example "512k" or "4m".
std::string size_text(dtrace_optval_t bytes)
{
    const char* unit = "";
    for (const char* larger : {"k", "m", "g", "t"}) {
        if (bytes % 1024 != 0 || bytes == 0)
            break;
        bytes /= 1024;
        unit = larger;
    }
    return std::to_string(bytes) + unit;
}

} // namespace

pid_t pid_of(const TargetArgument& target)
{
    char* end = nullptr;
    errno = 0;
    long pid = std::strtol(target.text.c_str(), &end, 10);
    if (errno != 0 || end == target.text.c_str() || *end != '\0' || pid <= 0 ||
        pid > INT32_MAX)
        die(nullptr, "invalid pid: %s", target.text.c_str());
    return static_cast<pid_t>(pid);
}

void release_targets(dtrace_hdl_t* session)
{
    releasing = 1;
    interrupted_session = nullptr;
    dtrace_close(session);
}

void catch_signals(dtrace_hdl_t* session, FILE* out)
{
    interrupted_session = session;
    output_fd = fileno(out);
    nowhere_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART; // a write() continues after a signal
    sigemptyset(&action.sa_mask);
    for (int sig : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        struct sigaction before {};
        // A signal that was ignored at the start, as with nohup(1), stays ignored.
        if (sigaction(sig, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(sig, &action, nullptr);
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ,
                SIG_IGN); // a write() that exceeds RLIMIT_FSIZE then fails with EFBIG
}

void Tracing::take_targets()
{
    for (const TargetArgument& target : args_.targets) {
        if (target.create) {
            auto [words, error] = split_command(target.text);
            if (!error.empty())
                die(nullptr, "failed to create process: -c '%s': %s",
                    target.text.c_str(), error.c_str());
            if (words.empty())
                die(nullptr, "failed to create process: -c needs a command");
            std::vector<char*> argv;
            for (std::string& word : words)
                argv.push_back(word.data());
            argv.push_back(nullptr);
            ps_prochandle* process =
                dtrace_proc_create(session_, argv[0], argv.data(), nullptr, nullptr);
            if (process == nullptr)
                die(session_, "failed to execute %s", words[0].c_str());
            targets_.push_back(process);
            continue;
        }
        pid_t pid = pid_of(target);
        ps_prochandle* process = dtrace_proc_grab(session_, pid, 0);
        if (process == nullptr)
            die(session_, "failed to grab pid %d", pid);
        targets_.push_back(process);
    }
}

void Tracing::enable(dtrace_prog_t* prog, const std::string& what,
                     const std::string& heading)
{
    if ((args_.cflags & DTRACE_C_SUGAR) != 0)
        std::fputs(dtrace_program_text(session_, prog), stdout);
    if (args_.disassemble || is_on(session_, "verbose"))
        dtrace_program_disasm(session_, prog, stderr);
    dtrace_proginfo_t info{};
    if (args_.verbose) {
        dtrace_program_info(session_, prog, &info);
        std::fprintf(stderr, "\nStability attributes for %s:\n\n", heading.c_str());
        print_attributes(stderr, "Minimum Probe Description Attributes",
                         info.dpi_descattr);
        std::fputc('\n', stderr);
        print_attributes(stderr, "Minimum Statement Attributes", info.dpi_stmtattr);
        std::fputc('\n', stderr);
    }
    if (args_.mode == Mode::Compile)
        return;
    if (dtrace_program_exec(session_, prog, &info) != 0)
        die(session_, "failed to enable %s", what.c_str());
    dtrace_stmt_iter(
        session_, prog,
        [](dtrace_hdl_t*, dtrace_prog_t*, dtrace_stmtdesc_t*, void* arg) {
            ++*static_cast<std::size_t*>(arg);
            return 0;
        },
        &n_clauses_);
    if (!args_.quiet && !is_on(session_, "quiet"))
        say("%s matched %u probe%s", what.c_str(), info.dpi_matches,
            info.dpi_matches == 1 ? "" : "s");
}

static std::string name_of(const Piece& piece, const char* quote)
{
    return (piece.flag == 's' ? "script " : "description ") + (quote + piece.text) +
           quote;
}

dtrace_prog_t* compile_piece(dtrace_hdl_t* session, const Arguments& args,
                             const Piece& piece)
{
    std::string zero = piece.flag == 's' ? piece.text : "dtrace";
    std::vector<char*> argv{zero.data()};
    if (args.mode != Mode::Object) // with -G, the operands are object files
        for (const std::string& operand : args.operands)
            argv.push_back(const_cast<char*>(operand.c_str()));
    auto argc = static_cast<int>(argv.size());

    dtrace_prog_t* prog = nullptr;
    if (piece.flag == 's') {
        FILE* file = piece.text == "-" ? stdin : std::fopen(piece.text.c_str(), "re");
        if (file == nullptr)
            die(nullptr, "failed to open %s: %s", piece.text.c_str(),
                std::strerror(errno));
        prog = dtrace_program_fcompile(session, file, args.cflags, argc, argv.data());
        if (file != stdin)
            std::fclose(file);
    } else {
        prog = dtrace_program_strcompile(session, piece.text.c_str(), piece.spec,
                                         args.cflags, argc, argv.data());
    }
    if (prog != nullptr)
        return prog;
    std::string quote = isatty(STDERR_FILENO) ? dtrace_errquote(session) : "";
    std::string failed = piece.flag == 's' ? "failed to compile script " + piece.text
                                           : "invalid probe specifier " + piece.text;
    if (!quote.empty()) {
        say("%s: %s", failed.c_str(), dtrace_errmsg(session, dtrace_errno(session)));
        std::fputs(quote.c_str(), stderr);
        dtrace_close(session);
        std::exit(1);
    }
    die(session, "%s", failed.c_str());
}

void Tracing::compile()
{
    for (const Piece& piece : args_.pieces)
        enable(compile_piece(piece), name_of(piece, "'"), name_of(piece, ""));
}

int Tracing::list()
{
    Listing listing(session_, out_, args_.verbose);
    if (args_.pieces.empty())
        listing.all();
    for (const Piece& piece : args_.pieces) {
        if (piece.flag == 's' || piece.text.find_first_of("/{") != std::string::npos)
            listing.program(compile_piece(piece));
        else
            listing.descriptions(piece, args_.operands);
    }
    return listing.finish();
}

int Tracing::on_probe(const dtrace_probedata_t* data, void* arg)
{
    auto* self = static_cast<Tracing*>(arg);
    if (n_interrupts > 1)
        return DTRACE_CONSUME_ABORT; // the user does not want the remaining records
    self->rows_.begin(*data);
    return DTRACE_CONSUME_THIS;
}

int Tracing::on_record(const dtrace_probedata_t*, const dtrace_recdesc_t* record,
                       void* arg)
{
    if (record != nullptr)
        return DTRACE_CONSUME_THIS;
    static_cast<Tracing*>(arg)->rows_.end();
    return DTRACE_CONSUME_NEXT;
}

int Tracing::on_error(const dtrace_errdata_t* data, void* arg)
{
    auto* self = static_cast<Tracing*>(arg);
    if (!self->told_in_lines_) {
        std::fflush(self->out_);
        say("%s", data->dteda_msg);
    }
    return DTRACE_HANDLE_OK;
}

int Tracing::on_drop(const dtrace_dropdata_t* data, void* arg)
{
    auto* self = static_cast<Tracing*>(arg);
    if (!self->told_in_lines_) {
        std::fflush(self->out_);
        say("%s", data->dtdda_msg);
    }
    return DTRACE_HANDLE_OK;
}

int Tracing::on_setopt(const dtrace_setoptdata_t* data, void* arg)
{
    auto* self = static_cast<Tracing*>(arg);
    if (std::strcmp(data->dtsda_option, "flowindent") == 0)
        self->rows_.read_options();
    else if (std::strcmp(data->dtsda_option, "format") == 0)
        self->read_format();
    return DTRACE_HANDLE_OK;
}

// Reads -x format. In the json format, libdtrace reports errors and drops as lines of
// the output, so on_error() and on_drop() print no messages.
void Tracing::read_format()
{
    rows_.read_options();
    dtrace_optval_t format = 0; // 2: json
    told_in_lines_ = dtrace_getopt(session_, "format", &format) == 0 && format == 2;
}

// Returns whether all targets and their followed children have exited. Returns false if
// there are no targets.
bool Tracing::all_ended() const
{
    return !targets_.empty() && n_ended_ == targets_.size() &&
           dtrace_proc_followed(session_) == 0;
}

static std::string signal_name(int signal)
{
    const char* name = sigabbrev_np(signal);
    if (name != nullptr)
        return std::string("SIG") + name;
    // SIGRTMIN is the first real-time signal that libc does not use itself.
    if (signal >= SIGRTMIN && signal <= SIGRTMAX)
        return "SIGRTMIN+" + std::to_string(signal - SIGRTMIN);
    return "signal " + std::to_string(signal);
}

void Tracing::process_ended(ps_prochandle* process)
{
    for (ps_prochandle* target : targets_)
        n_ended_ += target == process;
    int pid = dtrace_proc_getpid(session_, process);
    int status = dtrace_proc_status(session_, process);
    if (status == -1) {
        say("pid %d is no longer traced", pid);
        lost_ = true;
        return;
    }
    if (is_on(session_, "quiet"))
        return;
    if (WIFSIGNALED(status))
        say("pid %d terminated by %s", pid, signal_name(WTERMSIG(status)).c_str());
    else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        say("pid %d exited with status %d", pid, WEXITSTATUS(status));
    else
        say("pid %d has exited", pid);
}

void Tracing::on_process(ps_prochandle* process, const char* message, void* arg)
{
    auto* self = static_cast<Tracing*>(arg);
    std::fflush(self->out_);
    if (message != nullptr)
        say("%s", message);
    else
        self->process_ended(process);
}

// Prints one piece of output as a C string literal (-B). For a piece of an aggregation,
// also prints its kind.
int Tracing::on_piece(const dtrace_bufdata_t* data, void* arg)
{
    FILE* out = static_cast<Tracing*>(arg)->out_;
    std::fputs("piece", out);
    const std::pair<uint32_t, const char*> kinds[] = {
        {DTRACE_BUFDATA_AGGKEY, "key"},
        {DTRACE_BUFDATA_AGGVAL, "value"},
        {DTRACE_BUFDATA_AGGFORMAT, "formatted"},
        {DTRACE_BUFDATA_AGGLAST, "last of a row"}};
    for (auto [flag, name] : kinds)
        if ((data->dtbda_flags & flag) != 0)
            std::fprintf(out, ", %s", name);
    std::fputs(": \"", out);
    // libdtrace does not escape control characters in text that it passes to this
    // function.
    const bool is_terminal = ::isatty(::fileno(out)) != 0;
    for (const char* c = data->dtbda_buffered; *c != '\0'; c++) {
        const auto byte = static_cast<unsigned char>(*c);
        if (*c == '"' || *c == '\\')
            std::fputc('\\', out);
        if (*c == '\n')
            std::fputs("\\n", out);
        else if (is_terminal && *c != '\t' && (byte < 0x20 || byte >= 0x7f))
            std::fprintf(out, "\\%03o", byte);
        else
            std::fputc(*c, out);
    }
    std::fputs("\"\n", out);
    return DTRACE_HANDLE_OK;
}

int Tracing::run()
{
    // Without clauses, no probe can ever fire. n_clauses_ includes clauses without a
    // matching probe, because the library with the probe may be loaded later.
    if (n_clauses_ == 0 && !args_.claims && (args_.cflags & DTRACE_C_ZDEFS) == 0) {
        say("no probes matched");
        return 1;
    }
    dtrace_handle_err(session_, on_error, this);
    dtrace_handle_drop(session_, on_drop, this);
    dtrace_handle_setopt(session_, on_setopt, this);
    dtrace_handle_proc(session_, on_process, this);
    FILE* consumed = out_; // null if libdtrace passes its output to on_piece()
    if (args_.pieces_shown) {
        dtrace_handle_buffered(session_, on_piece, this);
        consumed = nullptr;
    }
    catch_signals(session_, out_);
    read_format();

    struct Size {
        const char *option, *name;
        dtrace_optval_t asked;
    } sizes[] = {{"bufsize", "buffer size", 0},
                 {"aggsize", "aggregation size", 0},
                 {"specsize", "speculation size", 0},
                 {"dynvarsize", "dynamic variable size", 0}};
    for (Size& size : sizes)
        dtrace_getopt(session_, size.option, &size.asked);
    if (dtrace_go(session_) != 0)
        die(session_, "could not enable tracing");
    // With -a, dtrace_go() claims the program of anonymous tracing, which has its own
    // options. So read the format again.
    read_format();
    for (const Size& size : sizes) {
        dtrace_optval_t got = 0;
        if (!args_.quiet && dtrace_getopt(session_, size.option, &got) == 0 &&
            got < size.asked)
            say("%s lowered to %s", size.name, size_text(got).c_str());
    }
    if (is_on(session_, "destructive") && !is_on(session_, "quiet"))
        say("allowing destructive actions");
    for (ps_prochandle* target : targets_)
        dtrace_proc_continue(session_, target);

    bool done = false, failed = false;
    while (!done) {
        if (n_interrupts == 0 && !all_ended() && !args_.only_claims)
            dtrace_sleep(session_);
        if (n_interrupts > 0 || all_ended() || args_.only_claims) {
            done = true;
            if (dtrace_stop(session_) != 0)
                die(session_, "couldn't stop tracing");
        }
        switch (dtrace_work(session_, consumed, on_probe, on_record, this)) {
        case DTRACE_WORKSTATUS_DONE:
            done = true;
            break;
        case DTRACE_WORKSTATUS_OKAY:
            break;
        default:
            if (n_interrupts > 1)
                done = true;
            else
                die(session_, "processing aborted");
        }
        if (n_interrupts > 1)
            break;
        if (std::fflush(out_) != 0) {
            say("failed to write output: %s", std::strerror(errno));
            failed = true;
            dtrace_stop(session_);
            break;
        }
    }
    if (!failed && n_interrupts < 2) {
        if (rows_.is_text())
            std::fputc('\n', out_);
        if (dtrace_aggregate_print(session_, consumed, nullptr) != 0)
            die(session_, "failed to print aggregations");
        if (std::fflush(out_) != 0 || std::ferror(out_)) {
            say("failed to write output: %s", std::strerror(errno));
            failed = true;
        }
    }
    if (n_interrupts > 1) {
        say("interrupted again: the remaining records and the aggregations are not "
            "printed");
        lost_ = true;
    }
    return failed || lost_ ? 1 : dtrace_exit_status(session_);
}
