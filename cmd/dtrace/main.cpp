// SPDX-License-Identifier: MIT
// dtrace(1). Translates the command line to calls to libdtrace, in this order:
//
//   arguments -> options -> targets (-c, -p) -> compile -> enable and consume
//                                            -> list (-l)
//                        -> compile -> write a header (-h) or an object (-G)
//                        -> compile -> save for anonymous tracing (-A)
//                        -> list patches (--patches)
#include "anonymous.hpp"
#include "arguments.hpp"
#include "building.hpp"
#include "patches.hpp"
#include "report.hpp"
#include "tracing.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

extern char** environ;

namespace {

// Sets options from the environment. DTRACE_OPT_NAME=value means -x name=value. Options
// on the command line take precedence. The variables are ignored if dtrace has more
// privileges than its user, for example through set-user-ID.
void options_from_environment(dtrace_hdl_t* session)
{
    constexpr const char prefix[] = "DTRACE_OPT_";
    if (::getauxval(AT_SECURE) != 0)
        return;
    for (char** entry = environ; *entry != nullptr; entry++) {
        if (std::strncmp(*entry, prefix, sizeof prefix - 1) != 0)
            continue;
        std::string setting = *entry + sizeof prefix - 1;
        std::size_t equals = setting.find('=');
        std::string name = setting.substr(0, equals);
        for (char& c : name)
            c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        std::string value = setting.substr(equals + 1);
        if (dtrace_setopt(session, name.c_str(), value.c_str()) != 0)
            die(session, "failed to set -x %s from the environment", name.c_str());
    }
}

void set_options(dtrace_hdl_t* session, const Arguments& args)
{
    dtrace_setopt(session, "temporal", "yes");
    options_from_environment(session);
    for (const auto& [name, value] : args.options)
        if (dtrace_setopt(session, name.c_str(), value.c_str()) != 0)
            die(session, "failed to set -x %s", name.c_str());
}

// Opens /dev/null for each standard descriptor that is closed. Otherwise the next file
// that dtrace opens could get descriptor 1 or 2, and output would be written to that
// file.
void hold_standard_descriptors()
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (::fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            // A read of stdin or a write to stdout fails, as it does with a closed
            // descriptor.
            (void)!::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// Prints the text of --help or -V on stdout. Returns the exit status, which is 1 if
// printing failed.
int answer(const std::string& text)
{
    if (std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0)
        return 0;
    say("failed to write output: %s", std::strerror(errno));
    return 1;
}

FILE* open_output(const Arguments& args)
{
    if (args.output.empty())
        return stdout;
    FILE* file = std::fopen(args.output.c_str(), "ae");
    if (file == nullptr)
        die(nullptr, "failed to open output file '%s': %s", args.output.c_str(),
            std::strerror(errno));
    return file;
}

} // namespace

int main(int argc, char* argv[])
{
    hold_standard_descriptors();
    // malloc() keeps blocks of up to 32 MiB in the heap, and keeps up to 64 MiB of free
    // memory. The tables of probes grow to many megabytes, and mapping each new size
    // separately would take longer.
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
    Arguments args = parse_arguments(argc, argv);
    if (!args.wrong.empty()) {
        say("%s", args.wrong.c_str());
        std::fputs(usage_text().c_str(), stderr);
        return 2;
    }
    if (!args.unsupported.empty())
        die(nullptr, "%s", args.unsupported.c_str());
    if (args.mode == Mode::Help)
        return answer(usage_text());
    if (args.mode == Mode::Version)
        return answer(std::string("dtrace: ") + _dtrace_version + "\n");

    int error = 0;
    dtrace_hdl_t* session = dtrace_open(DTRACE_VERSION, 0, &error);
    if (session == nullptr)
        die(nullptr, "failed to initialize dtrace: %s", dtrace_errmsg(nullptr, error));
    set_options(session, args);
    if (args.mode == Mode::Header || args.mode == Mode::Object) {
        int status = build(session, args);
        dtrace_close(session);
        return status;
    }
    if (args.mode == Mode::Anonymous) {
        int status = save_anonymous(session, args);
        dtrace_close(session);
        return status;
    }
    FILE* out = open_output(args);

    if (args.mode == Mode::Patches) {
        int status = list_patches(session, args, out);
        dtrace_close(session);
        return status;
    }
    Tracing tracing(session, args, out);
    tracing.take_targets();
    int status = 0;
    if (args.mode == Mode::List) {
        status = tracing.list();
    } else {
        tracing.compile();
        if (args.mode == Mode::Trace)
            status = tracing.run();
    }
    release_targets(session);
    return status;
}
