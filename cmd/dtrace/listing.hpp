// SPDX-License-Identifier: MIT
// dtrace -l: lists the matching probes, and with -v their stability.
#pragma once

#include "arguments.hpp"

#include <cstdio>

class Listing {
public:
    Listing(dtrace_hdl_t* session, FILE* out, bool verbose);

    // Lists all probes of the session that exist before any description is given.
    void all();
    // Lists the probes that match the descriptions of a piece, which are separated by
    // commas. The piece has no predicate and no clause. Exits if a description is not
    // valid.
    void descriptions(const Piece& piece, const std::vector<std::string>& operands);
    void program(dtrace_prog_t* prog);
    // Returns the exit status.
    int finish();

private:
    // Prints the header once, before the first row or message.
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
