// SPDX-License-Identifier: MIT
// A library with one probe, for programs that load it while they run.
#define DTRACE_USE_SEMAPHORES
#include <dtrace/sdt.h>

DTRACE_SEMAPHORE(plug, tick);

int fire(int n)
{
    int traced = DTRACE_PROBE_ENABLED(plug, tick);
    DTRACE_PROBE1(plug, tick, n);
    return traced;
}
