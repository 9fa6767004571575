// SPDX-License-Identifier: MIT
// -A: what the kernel module traces from when it is loaded.
#pragma once

#include "arguments.hpp"

// The exit status. Without a program the saved one is removed.
int save_anonymous(dtrace_hdl_t* session, const Arguments& args);
