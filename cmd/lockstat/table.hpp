// SPDX-License-Identifier: MIT
// Rows as lockstat(1) prints them.
#pragma once

#include "records.hpp"

#include <cstdio>

void print_rows(FILE* out, const Arguments& args, const Event& event, const Rows& rows,
                double seconds);
