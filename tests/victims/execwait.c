// SPDX-License-Identifier: MIT
// Calls work() ten times, then executes /bin/cat, which runs until its stdin ends.
#include <stdio.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline)) long work(long n)
{
    sink += n;
    return n;
}

int main(void)
{
    for (long i = 0; i < 10; ++i)
        work(i);
    execl("/bin/cat", "cat", (char*)NULL);
    perror("/bin/cat");
    return 9;
}
