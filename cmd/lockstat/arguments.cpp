// SPDX-License-Identifier: MIT
// Defines the table of flags, and parses the command line with getopt(3).
#include "arguments.hpp"

#include "report.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <getopt.h>

namespace {

struct Flag {
    char letter;
    const char* argument; // name of the argument in the usage text; null: no argument
    const char* help;
};

constexpr Flag flags[] = {
    {'C', nullptr, "watch contention (the default)"},
    {'H', nullptr, "watch holds"},
    {'A', nullptr, "watch all lock events (same as -C -H)"},
    {'I', nullptr, "watch profiling interrupts"},
    {'E', nullptr, "watch errors (Linux reports none)"},
    {'e', "events", "watch only these events, for example 0,4-7,32"},
    {'i', "rate", "profiling interrupts per second on each CPU (default 97)"},
    {'b', nullptr, "record only lock, caller and count"},
    {'t', nullptr, "also record times (the default)"},
    {'h', nullptr, "also record the distribution of times"},
    {'s', "depth", "also record stacks of this depth"},
    {'n', "nrecords", "maximum number of distinct records (default 10000)"},
    {'l', "lock[,size]", "watch only this lock; may be repeated"},
    {'d', "duration", "watch only events that took at least this many ns"},
    {'f', "func[,size]",
     "watch only events that this function caused; may be repeated"},
    {'T', nullptr, "print each event as a row"},
    {'c', nullptr, "combine locks that are in the same array"},
    {'k', nullptr, "show callers without offsets"},
    {'g', nullptr, "count each event once for every function in its stack"},
    {'w', nullptr, "combine all callers"},
    {'W', nullptr, "combine all locks"},
    {'R', nullptr, "print events per second instead of counts"},
    {'p', nullptr, "print machine-readable output: fields separated by tabs"},
    {'P', nullptr, "sort by count * time"},
    {'D', "count", "print only this many rows of each table"},
    {'o', "file", "write the output to a file"},
    {'x', "opt[=val]", "set a DTrace option"},
    {'V', nullptr, "show the D program on stderr"},
};

[[noreturn]] void usage()
{
    std::fputs("Usage: lockstat [options] command [args]\n\n", stderr);
    for (const Flag& flag : flags)
        std::fprintf(stderr, "  -%c %-12s %s\n", flag.letter,
                     flag.argument != nullptr ? flag.argument : "", flag.help);
    std::fputs("\n  ID kind event\n", stderr);
    for (const Event& event : all_events())
        std::fprintf(stderr, "  %2d   -%c  %s\n", event.id, event.kind, event.name);
    std::exit(2);
}

// The profile provider refuses intervals of less than 200 us.
constexpr unsigned long fastest_profile_hz = 5000;

unsigned long number(char flag, const char* text, unsigned long least,
                     unsigned long most)
{
    char* end = nullptr;
    errno = 0;
    unsigned long value = std::strtoul(text, &end, 0);
    if (errno != 0 || end == text || *end != '\0' || *text == '-' || value < least ||
        value > most)
        die(nullptr, "-%c takes a number from %lu to %lu, not '%s'", flag, least, most,
            text);
    return value;
}

void add_kind(Arguments& args, char kind)
{
    for (const Event& event : all_events())
        if (event.kind == kind)
            args.events.set(static_cast<std::size_t>(event.id));
}

void add_range(Arguments& args, const std::string& range)
{
    std::size_t dash = range.find('-');
    unsigned long first =
        number('e', range.substr(0, dash).c_str(), 0, n_event_ids - 1);
    unsigned long last =
        dash == std::string::npos
            ? first
            : number('e', range.c_str() + dash + 1, first, n_event_ids - 1);
    bool any = false;
    for (const Event& event : all_events()) {
        auto id = static_cast<unsigned long>(event.id);
        if (id < first || id > last)
            continue;
        args.events.set(id);
        any = true;
    }
    if (!any)
        die(nullptr,
            "-e %s: there is no such event; lockstat without arguments lists all "
            "events",
            range.c_str());
}

void add_events(Arguments& args, const std::string& list)
{
    for (std::size_t at = 0; at <= list.size();) {
        std::size_t end = std::min(list.find(',', at), list.size());
        add_range(args, list.substr(at, end - at));
        at = end + 1;
    }
}

Place place(char flag, const std::string& text)
{
    std::size_t comma = text.find(',');
    Place place{text.substr(0, comma), 0};
    if (comma != std::string::npos)
        place.n_bytes = number(flag, text.c_str() + comma + 1, 1, 1ul << 40);
    if (place.name.empty())
        die(nullptr, "-%c needs a name or an address", flag);
    return place;
}

void take_option(Arguments& args, const std::string& text)
{
    std::size_t equals = text.find('=');
    args.options.emplace_back(text.substr(0, equals), equals == std::string::npos
                                                          ? ""
                                                          : text.substr(equals + 1));
}

void take(Arguments& args, char flag, const char* value)
{
    constexpr unsigned long most = 1ul << 31, deepest = 50;
    switch (flag) {
    case 'C':
    case 'H':
    case 'I':
        add_kind(args, flag);
        break;
    case 'A':
        add_kind(args, 'C'), add_kind(args, 'H');
        break;
    case 'E':
        die(nullptr, "-E: the Linux kernel does not report lock errors");
    case 'e':
        add_events(args, value);
        break;
    case 'i':
        args.rate = number(flag, value, 1, fastest_profile_hz);
        break;
    case 'b':
        args.detail = Detail::Basic;
        break;
    case 't':
        args.detail = Detail::Times;
        break;
    case 'h':
        args.detail = Detail::Histogram;
        break;
    case 's':
        args.detail = Detail::Stacks;
        args.depth = static_cast<unsigned>(number(flag, value, 1, deepest));
        break;
    case 'n':
        args.n_records = number(flag, value, 1, most);
        break;
    case 'l':
        args.locks.push_back(place(flag, value));
        break;
    case 'd':
        args.shortest_ns = number(flag, value, 0, ~0ul);
        break;
    case 'f':
        args.functions.push_back(place(flag, value));
        break;
    case 'T':
        args.traced = true;
        break;
    case 'c':
        args.arrays_joined = true;
        break;
    case 'k':
        args.functions_joined = true;
        break;
    case 'g':
        args.generated = true;
        break;
    case 'w':
        args.any_caller = true;
        break;
    case 'W':
        args.any_lock = true;
        break;
    case 'R':
        args.rates = true;
        break;
    case 'p':
        args.parsable = true;
        break;
    case 'P':
        args.by_product = true;
        break;
    case 'D':
        args.top = number(flag, value, 1, most);
        break;
    case 'o':
        args.output = value;
        break;
    case 'x':
        take_option(args, value);
        break;
    case 'V':
        args.program_shown = true;
        break;
    default:
        usage();
    }
}

} // namespace

Arguments parse_arguments(int argc, char* argv[])
{
    std::string letters = "+";
    for (const Flag& flag : flags) {
        letters += flag.letter;
        if (flag.argument != nullptr)
            letters += ':';
    }
    Arguments args;
    for (int flag = 0; (flag = getopt(argc, argv, letters.c_str())) != -1;)
        take(args, static_cast<char>(flag), optarg);
    args.command.assign(argv + optind, argv + argc);
    if (args.command.empty())
        usage();
    args.command.push_back(nullptr);
    if (args.by_product && args.detail == Detail::Basic)
        die(nullptr,
            "-P sorts rows by time, which -b does not record: use -t instead of -b");
    if (args.events.none())
        add_kind(args, 'C');
    return args;
}
