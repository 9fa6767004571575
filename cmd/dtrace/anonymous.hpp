// SPDX-License-Identifier: MIT
// Implements dtrace -A, which saves the program of anonymous tracing. The kernel module
// starts the program when the module is loaded.
#pragma once

#include "arguments.hpp"

// Saves the program of the command line. Without a program, removes the one that was
// saved before. Returns the exit status.
int save_anonymous(dtrace_hdl_t* session, const Arguments& args);
