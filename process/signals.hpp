// SPDX-License-Identifier: MIT
// What a signal means, for the proc provider.
#pragma once

namespace dt {

// Returns the number that illumos's <sys/fault.h> defines for the fault that caused a
// signal with this si_code. Returns 0 if no fault caused it.
int fault_of(int signal, int code);
// Returns whether a process without a handler for the signal continues.
bool is_ignored_by_default(int signal);

} // namespace dt
