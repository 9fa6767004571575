// SPDX-License-Identifier: MIT
// A library of edges: a thread-local of its own, and a function that is bound when it is
// first called.
#include <stdlib.h>

static __thread long count;

long count_local(long n)
{
    count += 1;
    return count + strtol("1234567" + n % 7, NULL, 10);
}
