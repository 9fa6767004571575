// SPDX-License-Identifier: MIT
// The command line of dtruss.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

struct Arguments {
    std::vector<pid_t> pids;         // -p
    std::vector<std::string> calls;  // -t; all calls if empty
    std::string name;                // -n
    std::string buffer_size = "16m"; // -b
    bool counts = false;             // -c
    bool relative = false;           // -d
    bool elapsed = false;            // -e
    bool cpu = false;                // -o
    bool follow = false;             // -f
    bool ids = false;                // -l, or -f without -L
    bool stacks = false;             // -s
    std::vector<char*> command;      // ends with a null pointer, empty with -p
};

// Prints a message and exits if the arguments are wrong, or if -h was given.
Arguments parse_arguments(int argc, char* argv[]);
