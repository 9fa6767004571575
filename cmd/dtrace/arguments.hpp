// SPDX-License-Identifier: MIT
// Parses dtrace(1)'s command line.
//
// Flags and operands may be mixed. After "--", all arguments are operands. Operands
// become the macro arguments $1, $2, and so on. The pieces of the program (-P, -m, -f,
// -n, -i, -s) keep their order. Combined flags ("-qs file") also work on the #! line of
// a script.
#pragma once

#include <dtrace.h>

#include <string>
#include <utility>
#include <vector>

enum class Mode {
    Trace,
    List,
    Patches,
    Version,
    Help,
    Compile,
    Header,
    Object,
    Anonymous
};

struct Piece {
    char flag = 'n'; // the flag's letter: P, m, f, n, i or s
    std::string text;
    dtrace_probespec_t spec = DTRACE_PROBESPEC_NAME;
};

struct TargetArgument {
    bool create = false; // true: -c, and the text is a command; false: -p
    std::string text;
};

struct Arguments {
    Mode mode = Mode::Trace;
    std::vector<Piece> pieces;
    std::vector<TargetArgument> targets;
    std::vector<std::pair<std::string, std::string>> options; // -x, -b, -w, ...
    std::vector<std::string> operands;
    std::string output; // -o
    bool quiet = false, flowindent = false, verbose = false, disassemble = false;
    bool pieces_shown = false; // -B
    bool claims = false;       // -a
    bool only_claims = false;  // -a with -e: print the claimed data, then exit
    unsigned cflags = 0;
    std::string wrong; // the message about an error in the command line, or empty
    // The message about a flag that only other systems support, or empty.
    std::string unsupported;
};

// Parses the command line. After an error, `wrong` or `unsupported` is not empty.
Arguments parse_arguments(int argc, char* argv[]);

// Returns the usage text with one row per flag.
std::string usage_text();
