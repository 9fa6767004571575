// SPDX-License-Identifier: MIT
// Parses dtrace(1)'s command line.
//
// Flags and operands may be mixed, up to a "--". Operands become $1, $2, ... Program
// pieces (-P -m -f -n -i -s) keep their order. getopt(3) does the parsing, because
// combined flags ("-qs file") and the #! line require its rules.
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
    char flag = 'n'; // P m f n i s
    std::string text;
    dtrace_probespec_t spec = DTRACE_PROBESPEC_NAME;
};

struct TargetArgument {
    bool create = false; // -c; otherwise -p
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
    bool only_claims = false;  // -ae
    unsigned cflags = 0;
    std::string wrong;       // an error in the command line; empty: none
    std::string unsupported; // a flag that only other systems support; empty if none
};

Arguments parse_arguments(int argc, char* argv[]);

// Returns the usage text with one row per flag.
std::string usage_text();
