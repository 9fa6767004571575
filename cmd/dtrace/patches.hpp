// SPDX-License-Identifier: MIT
// dtrace --patches: lists our patches in running processes.
#pragma once

#include "arguments.hpp"

#include <cstdio>

// Prints a table for each process of -p. Returns the exit status.
int list_patches(dtrace_hdl_t* session, const Arguments& args, FILE* out);
