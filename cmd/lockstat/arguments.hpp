// SPDX-License-Identifier: MIT
// Parses lockstat(1)'s command line. Flags end where the command begins.
#pragma once

#include <bitset>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "events.hpp"

// Each level includes the previous one.
enum class Detail { Basic, Times, Histogram, Stacks };

// A place in the kernel, given as "NAME", "NAME,SIZE" or "0xADDRESS,SIZE".
struct Place {
    std::string name;
    std::uint64_t n_bytes = 0; // 0: the size of the symbol
};

struct Arguments {
    std::bitset<n_event_ids> events;
    Detail detail = Detail::Times;
    unsigned depth = 0; // of stacks, in frames
    unsigned long rate = 97;
    unsigned long n_records = 10000;
    unsigned long top = 0; // 0: all
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

// Exits if the command line is not valid.
Arguments parse_arguments(int argc, char* argv[]);
