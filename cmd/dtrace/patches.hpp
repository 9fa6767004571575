// SPDX-License-Identifier: MIT
// dtrace --patches: what of ours is in processes that run.
#pragma once

#include "arguments.hpp"

#include <cstdio>

// The processes of -p, one table each: the exit status.
int list_patches(dtrace_hdl_t* session, const Arguments& args, FILE* out);
