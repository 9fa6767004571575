// SPDX-License-Identifier: MIT
// -A: saves the enabling that the kernel module starts when it is loaded.
#pragma once

#include "arguments.hpp"

// Returns the exit status. Without a program, removes the saved one.
int save_anonymous(dtrace_hdl_t* session, const Arguments& args);
