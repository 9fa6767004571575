// SPDX-License-Identifier: MIT
// Parses lockstat(1)'s command line. The first argument that is not a flag begins the
// command.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "events.hpp"

// The level of detail that is recorded for each event (-b, -t, -h, -s). Each level
// includes the previous one.
enum class Detail { Basic, Times, Histogram, Stacks };

// An argument of -l or -f, in the form NAME, NAME,SIZE, ADDRESS or ADDRESS,SIZE. It
// specifies a range of kernel addresses.
struct Place {
    std::string name;
    std::uint64_t n_bytes = 0; // 0 if no size was given
};

struct Arguments {
    std::bitset<n_event_ids> events;
    Detail detail = Detail::Times;
    unsigned depth = 0; // number of stack frames to record (-s)
    unsigned long rate = 97;
    unsigned long n_records = 10000;
    unsigned long top = 0; // number of rows to print per table; 0: all (-D)
    unsigned long shortest_ns = 0;
    std::vector<Place> locks, functions;
    bool traced = false;           // -T
    bool arrays_joined = false;    // -c
    bool functions_joined = false; // -k
    bool generated = false;        // -g
    bool any_caller = false;       // -w
    bool any_lock = false;         // -W
    bool rates = false;            // -R
    bool parsable = false;         // -p
    bool by_product = false;       // -P
    bool program_shown = false;    // -V
    std::string output;
    std::vector<std::pair<std::string, std::string>> options;
    std::vector<char*> command;
};

// Parses the command line. Exits with a message if it is not valid.
Arguments parse_arguments(int argc, char* argv[]);
