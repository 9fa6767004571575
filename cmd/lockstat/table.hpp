// SPDX-License-Identifier: MIT
// Prints rows in the format of lockstat(1).
#pragma once

#include "records.hpp"

#include <cstdio>

void print_rows(FILE* out, const Arguments& args, const Event& event, const Rows& rows,
                double seconds);
