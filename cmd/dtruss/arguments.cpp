// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

static const char usage[] =
    "Usage: dtruss [-acdefhlLos] [-b SIZE] [-n NAME] [-t CALL[,CALL...]]\n"
    "              {-p PID | COMMAND [ARGUMENT...]}\n"
    "  -a       print all: -d -e -o and -l\n"
    "  -b SIZE  the size of each buffer (16m)\n"
    "  -c       count calls, errors and times, and print only a summary\n"
    "  -d       print the time since the start in microseconds\n"
    "  -e       print the elapsed time of each call in microseconds\n"
    "  -f       also trace the children, and the programs that they execute\n"
    "  -h       print this text\n"
    "  -l       print the thread id in each line (default with -f)\n"
    "  -L       do not print the thread id\n"
    "  -n NAME  print only calls of programs with this name\n"
    "  -o       print the CPU time of each call in microseconds\n"
    "  -p PID   trace this process; may be repeated\n"
    "  -s       print the stack of each call\n"
    "  -t CALL  trace only these system calls\n";

static pid_t pid_of(const char* text)
{
    char* end = nullptr;
    const long pid = std::strtol(text, &end, 10);
    if (*end != '\0' || pid <= 0 || pid > 1 << 22)
        die(nullptr, "-p takes the number of a process, not '%s'", text);
    return static_cast<pid_t>(pid);
}

static std::vector<std::string> calls_of(const std::string& text)
{
    std::vector<std::string> calls;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        calls.push_back(text.substr(at, end - at));
        if (calls.back().empty() ||
            calls.back().find_first_not_of(
                "abcdefghijklmnopqrstuvwxyz0123456789_*?[]") != std::string::npos)
            die(nullptr, "-t takes the names of system calls, not '%s'",
                calls.back().c_str());
        at = end + 1;
    }
    return calls;
}

Arguments parse_arguments(int argc, char* argv[])
{
    Arguments args;
    bool no_ids = false;
    for (int option = 0; (option = getopt(argc, argv, "+ab:cdefhlLn:op:st:")) != -1;) {
        switch (option) {
        case 'a':
            args.relative = args.elapsed = args.cpu = args.ids = true;
            break;
        case 'b':
            args.buffer_size = optarg;
            break;
        case 'c':
            args.counts = true;
            break;
        case 'd':
            args.relative = true;
            break;
        case 'e':
            args.elapsed = true;
            break;
        case 'f':
            args.follow = args.ids = true;
            break;
        case 'h':
            std::fputs(usage, stdout);
            std::exit(0);
        case 'l':
            args.ids = true;
            break;
        case 'L':
            no_ids = true;
            break;
        case 'n':
            args.name = optarg;
            break;
        case 'o':
            args.cpu = true;
            break;
        case 'p':
            args.pids.push_back(pid_of(optarg));
            break;
        case 's':
            args.stacks = true;
            break;
        case 't':
            args.calls = calls_of(optarg);
            break;
        default:
            std::fputs(usage, stderr);
            std::exit(2);
        }
    }
    args.ids = args.ids && !no_ids;
    for (int i = optind; i < argc; i++)
        args.command.push_back(argv[i]);
    if (args.command.empty() == args.pids.empty()) {
        say(args.command.empty() ? "name a process with -p, or a command"
                                 : "name a process with -p or a command, not both");
        std::fputs(usage, stderr);
        std::exit(2);
    }
    if (!args.command.empty())
        args.command.push_back(nullptr);
    return args;
}
