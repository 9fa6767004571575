// SPDX-License-Identifier: MIT
// Implements dtrace -l, which lists the matching probes. With -v, it also prints their
// stability, argument types and mechanisms.
#pragma once

#include "arguments.hpp"

#include <cstdio>

class Listing {
public:
    Listing(dtrace_hdl_t* session, FILE* out, bool verbose);

    // Lists all probes that exist already. Some providers, such as `pid`, create a
    // probe only when a description names it.
    void all();
    // Lists the probes that match the descriptions of a piece, which has no predicate
    // and no clause. Exits with a message if a description is not valid.
    void descriptions(const Piece& piece, const std::vector<std::string>& operands);
    // Lists the probes that match the descriptions of the program's clauses.
    void program(dtrace_prog_t* prog);
    // Ends the list. Returns the exit status, which is 1 if the list could not be
    // written.
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
