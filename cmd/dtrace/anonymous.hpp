// SPDX-License-Identifier: MIT
// dtrace -A: saves the enabling that the kernel module starts when it is loaded.
#pragma once

#include "arguments.hpp"

// Returns the exit status. If there is no program, removes the saved enabling.
int save_anonymous(dtrace_hdl_t* session, const Arguments& args);
