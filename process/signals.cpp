// SPDX-License-Identifier: MIT
#include "process/signals.hpp"

#include <csignal>

namespace dt {

int fault_of(int signal, int code)
{
    if (code <= 0)
        return 0;
    switch (signal) {
    case SIGILL:
        return 1; // FLTILL
    case SIGTRAP:
        return code == TRAP_TRACE ? 4 : 3; // FLTTRACE, FLTBPT
    case SIGBUS:
        return 5; // FLTACCESS
    case SIGSEGV:
        return 6; // FLTBOUNDS
    case SIGFPE:
        // FLTIZDIV, FLTIOVF, FLTFPE
        return code == FPE_INTDIV ? 8 : code == FPE_INTOVF ? 7 : 9;
    default:
        return 0;
    }
}

bool is_ignored_by_default(int signal)
{
    return signal == SIGCHLD || signal == SIGURG || signal == SIGWINCH ||
           signal == SIGCONT;
}

} // namespace dt
