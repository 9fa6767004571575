// SPDX-License-Identifier: MIT
// Implements -h and -G, which create a header and an object file for programs with
// static probes.
#pragma once

#include "arguments.hpp"

// Compiles the script and writes the header or the object. Returns the exit status.
// Exits with a message after an error.
int build(dtrace_hdl_t* session, const Arguments& args);
