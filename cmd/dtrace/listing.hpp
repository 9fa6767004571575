// SPDX-License-Identifier: MIT
// dtrace -l: probes in columns that scripts parse.
#pragma once

#include "arguments.hpp"

// Prints to `out`; the exit status.
int list_probes(dtrace_hdl_t* session, const Arguments& args, FILE* out);
