// SPDX-License-Identifier: MIT
// -h and -G: a provider's script to what programs with its probes are built with.
#pragma once

#include "arguments.hpp"

// The exit status.
int build(dtrace_hdl_t* session, const Arguments& args);
