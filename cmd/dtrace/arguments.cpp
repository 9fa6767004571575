// SPDX-License-Identifier: MIT
// Defines the table of flags, and parses the command line with getopt_long(3).
#include "arguments.hpp"

#include <getopt.h>

namespace {

struct Flag {
    char letter;
    const char* argument; // name of the argument in --help; null: no argument
    const char* help;
    const char* option = nullptr; // the -x option that the flag sets to its argument
};

constexpr Flag flags[] = {
    {'a', nullptr, "claim the anonymous enabling and print its records", "grabanon"},
    {'A', nullptr,
     "save the program as the anonymous enabling; without a program, remove the saved "
     "one"},
    {'b', "size", "size of the principal buffer (suffixes: k, m, g, t)", "bufsize"},
    {'B', nullptr, "show each piece of output, quoted, on its own line"},
    {'c', "command", "run a command and trace it; its pid is $target"},
    {'C', nullptr, "run the C preprocessor on programs first"},
    {'D', "name[=val]", "define a macro for -C", "define"},
    {'d', nullptr, "show the program with each if statement rewritten as clauses"},
    {'e', nullptr, "stop after compiling, before enabling probes"},
    {'f', "func", "enable or list probes by function"},
    {'F', nullptr, "indent the output at function entry, unindent at return"},
    {'G', nullptr, "write an object file for a script that declares providers"},
    {'h', nullptr,
     "write a header for C and C++ from a script that declares providers"},
    {'H', nullptr, "with -C, list the included files on stderr", "cpphdrs"},
    {'I', "dir", "with -C, also search this directory for included files", "incdir"},
    {'i', "id", "enable or list a probe by its number"},
    {'k', nullptr,
     "ignored, like --types; build scripts for SystemTap's dtrace pass it"},
    {'l', nullptr, "list probes instead of enabling them"},
    {'L', "dir", "compile the D libraries in a directory first", "libdir"},
    {'m', "module", "enable or list probes by module"},
    {'n', "name", "enable or list probes by name: provider:module:function:name"},
    {'o', "file", "append output to a file"},
    {'p', "pid", "trace a process; $target is its pid"},
    {'P', "provider", "enable or list probes by provider"},
    {'q', nullptr, "print only the output of the D program"},
    {'s', "script", "compile a D script"},
    {'S', nullptr, "show the program's DIF on stderr"},
    {'U', "name", "undefine a macro for -C", "undef"},
    {'v', nullptr, "report stability; with -l, also arguments"},
    {'V', nullptr, "show the version of D"},
    {'w', nullptr, "permit destructive actions", "destructive"},
    {'x', "opt[=val]", "set an option"},
    {'X', "a|c|s|t", "C dialect: GNU (a, t), ISO (c), pre-ISO (s)", "stdc"},
    {'Z', nullptr, "accept probe descriptions that match no probe"},
};

// --patches and --help have no letter. Their values are outside the range of
// characters.
constexpr int flag_patches = 256;
constexpr int flag_help = 257;
constexpr const char patches_help[] =
    "list dtrace's patches in the processes given with -p";

std::string option_string()
{
    // getopt() options have only one character. The flag -32 is parsed as the option -3
    // with the argument 2, and -64 as -6 with the argument 4.
    std::string letters = "+:3:6:";
    for (const Flag& flag : flags) {
        letters += flag.letter;
        if (flag.argument != nullptr)
            letters += ':';
    }
    return letters;
}

void set_option(Arguments& args, const std::string& text)
{
    std::size_t equals = text.find('=');
    args.options.emplace_back(text.substr(0, equals), equals == std::string::npos
                                                          ? ""
                                                          : text.substr(equals + 1));
}

void take(Arguments& args, int flag, const char* value)
{
    auto set_mode = [&](Mode mode) {
        if (args.mode != Mode::Trace && args.mode != mode)
            args.wrong =
                "only one of -A, -G, -h, -l, -V, --help and --patches may be used";
        args.mode = mode;
    };
    switch (flag) {
    case 'A':
        set_mode(Mode::Anonymous);
        break;
    case 'a':
        args.claims = true;
        args.options.emplace_back("grabanon", "");
        break;
    case 'B':
        args.pieces_shown = true;
        break;
    case 'c':
        args.targets.push_back({true, value});
        break;
    case 'p':
        args.targets.push_back({false, value});
        break;
    case 'd':
        args.cflags |= DTRACE_C_SUGAR;
        break;
    case 'e':
        args.mode = args.mode == Mode::Trace ? Mode::Compile : args.mode;
        args.cflags |= DTRACE_C_NOENABLE;
        break;
    case '3':
    case '6':
        if (flag == '3' && std::string(value) == "2")
            args.unsupported = "-32: 32-bit programs cannot be traced, and D uses the "
                               "types of 64-bit programs; omit -32, or use -64";
        else if (flag == '3' || std::string(value) != "4")
            args.wrong =
                std::string("invalid option -- '") + static_cast<char>(flag) + "'";
        break;
    case 'C':
        args.cflags |= DTRACE_C_CPP;
        break;
    case 'F':
        args.flowindent = true;
        args.options.emplace_back("flowindent", "");
        break;
    case 'G':
        set_mode(Mode::Object);
        args.cflags |= DTRACE_C_ZDEFS | DTRACE_C_NOENABLE;
        break;
    case 'h':
        set_mode(Mode::Header);
        args.cflags |= DTRACE_C_ZDEFS | DTRACE_C_NOENABLE;
        break;
    case flag_help:
        set_mode(Mode::Help);
        break;
    // SystemTap's dtrace accepts -k and --types with -h and -G. Here, they have no
    // effect.
    case 'k':
        break;
    case 'l':
        set_mode(Mode::List);
        args.cflags |= DTRACE_C_ZDEFS | DTRACE_C_NOENABLE;
        break;
    case 'V':
        set_mode(Mode::Version);
        break;
    case flag_patches:
        set_mode(Mode::Patches);
        break;
    case 'o':
        args.output = value;
        break;
    case 'q':
        args.quiet = true;
        args.options.emplace_back("quiet", "");
        break;
    case 'S':
        args.disassemble = true;
        args.cflags |= DTRACE_C_DIFV;
        break;
    case 'v':
        args.verbose = true;
        break;
    case 'x':
        set_option(args, value);
        break;
    case 'Z':
        args.cflags |= DTRACE_C_ZDEFS;
        break;
    case 'P':
        args.pieces.push_back({'P', value, DTRACE_PROBESPEC_PROVIDER});
        break;
    case 'm':
        args.pieces.push_back({'m', value, DTRACE_PROBESPEC_MOD});
        break;
    case 'f':
        args.pieces.push_back({'f', value, DTRACE_PROBESPEC_FUNC});
        break;
    case 'n':
        args.pieces.push_back({'n', value, DTRACE_PROBESPEC_NAME});
        break;
    case 'i':
        args.pieces.push_back({'i', value, DTRACE_PROBESPEC_NAME});
        break;
    case 's':
        args.pieces.push_back({'s', value, DTRACE_PROBESPEC_NONE});
        break;
    default:
        for (const Flag& row : flags)
            if (row.letter == flag && row.option != nullptr)
                args.options.emplace_back(row.option, value != nullptr ? value : "");
        break;
    }
}

// Returns an error message if the arguments are invalid with --patches, otherwise "".
std::string wrong_with_patches(const Arguments& args)
{
    if (args.targets.empty())
        return "--patches requires a process: use -p pid";
    for (const TargetArgument& target : args.targets)
        if (target.create)
            return "--patches reads running processes: use -p, not -c";
    return args.pieces.empty() ? "" : "--patches takes no probes";
}

// Removes -fPIC and -fPIE from the arguments of -G. Build tools add these compiler
// flags, and dtrace would read them as the flag -f with a function name.
void drop_pic(Arguments& args)
{
    std::erase_if(args.pieces, [](const Piece& piece) {
        return piece.flag == 'f' && (piece.text == "PIC" || piece.text == "PIE");
    });
}

// Returns an error message if the arguments are invalid with -h or -G, otherwise "".
std::string wrong_with_building(const Arguments& args)
{
    const std::string flag = args.mode == Mode::Header ? "-h" : "-G";
    if (args.pieces.size() != 1 || args.pieces.front().flag != 's')
        return flag +
               " requires exactly one script, which declares the provider: " + flag +
               " -s provider.d" + (flag == "-h" ? " (--help shows the usage)" : "");
    if (!args.targets.empty())
        return flag + " does not trace processes, so -c and -p are not allowed";
    if (args.mode == Mode::Header && !args.operands.empty())
        return "-h takes no operands: " + args.operands.front();
    if (args.output.empty() && args.pieces.front().text == "-")
        return flag + " with a script from standard input requires an output file: use "
                      "-o file";
    return "";
}

} // namespace

Arguments parse_arguments(int argc, char* argv[])
{
    Arguments args;
    const std::string letters = option_string();
    const option long_options[] = {{"help", no_argument, nullptr, flag_help},
                                   {"version", no_argument, nullptr, 'V'},
                                   {"patches", no_argument, nullptr, flag_patches},
                                   {"types", no_argument, nullptr, 'k'},
                                   {nullptr, 0, nullptr, 0}};
    opterr = 0;
    bool only_operands = false; // after "--"
    // Setting optind to 0 resets getopt_long(), which then starts at argv[1].
    for (optind = 0; optind < argc && args.wrong.empty(); optind++) {
        int flag = 0;
        int before = optind == 0 ? 1 : optind;
        while (args.wrong.empty() && !only_operands &&
               (flag = getopt_long(argc, argv, letters.c_str(), long_options,
                                   nullptr)) != -1) {
            before = optind;
            if (flag == '?')
                args.wrong = optopt != 0 ? std::string("invalid option -- '") +
                                               static_cast<char>(optopt) + "'"
                                         : std::string("unrecognized option '") +
                                               argv[optind - 1] + "'";
            else if (flag == ':')
                args.wrong = std::string("option requires an argument -- '") +
                             static_cast<char>(optopt) + "'";
            else
                take(args, flag, optarg);
        }
        // getopt_long() does not report "--", so compare the argument with "--".
        only_operands =
            only_operands || (optind > before && argv[before] == std::string("--"));
        if (optind < argc)
            args.operands.emplace_back(argv[optind]);
    }
    if (args.mode == Mode::Object)
        drop_pic(args);
    if (args.claims && args.mode == Mode::Compile) {
        args.mode = Mode::Trace;
        args.only_claims = true;
    }
    if (args.wrong.empty() && args.claims && !args.pieces.empty())
        args.wrong =
            "-a claims the program that -A saved, so no other program is allowed";
    if (args.wrong.empty() && args.mode == Mode::Anonymous && !args.targets.empty())
        args.wrong = "-A does not trace processes, so -c and -p are not allowed";
    if (args.wrong.empty() && args.pieces.empty() && !args.claims &&
        args.mode == Mode::Trace)
        args.wrong = "no probes specified";
    if (args.wrong.empty() && args.mode == Mode::Patches)
        args.wrong = wrong_with_patches(args);
    if (args.wrong.empty() && (args.mode == Mode::Header || args.mode == Mode::Object))
        args.wrong = wrong_with_building(args);
    return args;
}

std::string usage_text()
{
    std::string text =
        "Usage: dtrace [-aABCdeFGHhklqSvVwZ] [-b size] [-c command] [-D name[=val]]\n"
        "       [-I dir] [-L dir] [-o file] [-p pid] [-U name] [-x opt[=val]]\n"
        "       [-X a|c|s|t] [-P provider] [-m module] [-f func] [-n name]\n"
        "       [-i id] [-s script] [args ...]\n"
        "       dtrace -h [-C] [-o header] -s provider.d\n"
        "       dtrace -G [-C] [-o object] -s provider.d [objects ...]\n"
        "       dtrace --patches -p pid [-o file]\n\n"
        "       predicate -> '/' D-expression '/'\n"
        "          action -> '{' D-statements '}'\n\n"
        "       -P, -m, -f, -n and -i take [[predicate] action] after the name\n\n";
    for (const Flag& flag : flags) {
        std::string left = std::string("  -") + flag.letter;
        if (flag.argument != nullptr)
            left += std::string(" ") + flag.argument;
        left.resize(left.size() < 16 ? 16 : left.size() + 1, ' ');
        text += left + flag.help + "\n";
    }
    text += "  --help         this help\n";
    text += std::string("  --patches      ") + patches_help + "\n";
    text +=
        "\nExample: count a command's calls to libc functions\n"
        "  dtrace -n 'pid$target:libc.so.6::entry { @[probefunc] = count(); }' -c ls\n";
    return text;
}
