// SPDX-License-Identifier: MIT
// dtrace -l: the probes that match, and with -v how stable they are.
#pragma once

#include "arguments.hpp"

#include <cstdio>

class Listing {
public:
    Listing(dtrace_hdl_t* session, FILE* out, bool verbose);

    // What a session knows before any probe is requested.
    void all();
    // A piece without predicate and clause: descriptions, separated by commas. Exits when
    // one has too many fields.
    void descriptions(const Piece& piece, const std::vector<std::string>& operands);
    void program(dtrace_prog_t* prog);
    // Exit status.
    int finish();

private:
    // Prints the header once, before the first row or complaint.
    void header();
    void matching(const dtrace_probedesc_t& pattern);
    static int print_probe(dtrace_hdl_t* session, const dtrace_probedesc_t* probe,
                           void* arg);

    dtrace_hdl_t* session_;
    FILE* out_;
    bool verbose_;
    bool has_header_ = false;
};

void print_attributes(FILE* out, const char* title, dtrace_attribute_t attribute);
