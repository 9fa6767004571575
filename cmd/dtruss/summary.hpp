// SPDX-License-Identifier: MIT
// The table of dtruss -c, with the columns of strace -c.
#pragma once

#include <dtrace.h>

// Prints the aggregations @calls, @errors and @times.
void print_summary(dtrace_hdl_t* session);
