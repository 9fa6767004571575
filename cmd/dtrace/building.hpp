// SPDX-License-Identifier: MIT
// -h and -G: create the files for building programs with a provider's probes.
#pragma once

#include "arguments.hpp"

// Returns the exit status.
int build(dtrace_hdl_t* session, const Arguments& args);
