// SPDX-License-Identifier: MIT
// Prints the rows of one event in the format of lockstat(1).
#pragma once

#include "records.hpp"

#include <cstdio>

// Prints the table of one event, or with -p one line of fields for each row. `seconds`
// is the time for which events were counted.
void print_rows(FILE* out, const Arguments& args, const Event& event, const Rows& rows,
                double seconds);
