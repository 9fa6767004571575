// SPDX-License-Identifier: MIT
// The library that edges loads, with a thread-local variable and a lazily bound
// function.
#include <stdlib.h>

static __thread long count;

long count_local(long n)
{
    count += 1;
    return count + strtol("1234567" + n % 7, NULL, 10);
}
