// SPDX-License-Identifier: MIT
// dtrace -l: probes in columns that scripts parse.
#pragma once

#include "arguments.hpp"

// One block of a stability report.
void print_attributes(FILE* out, const char* title, dtrace_attribute_t attribute);

// Prints to `out`; the exit status.
int list_probes(dtrace_hdl_t* session, const Arguments& args, FILE* out);
