// SPDX-License-Identifier: MIT
// Implements dtrace --patches, which lists the patches in running processes.
#pragma once

#include "arguments.hpp"

#include <cstdio>

// Prints the patches of each process that was given with -p, and a summary for each.
// Returns the exit status, which is 1 if a process could not be read.
int list_patches(dtrace_hdl_t* session, const Arguments& args, FILE* out);
