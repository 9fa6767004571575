// SPDX-License-Identifier: MIT
// tracer PID acts as another debugger. It prints "tracing", and stays attached to the
// process until its own stdin ends.
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    pid_t pid = argc > 1 ? (pid_t)atol(argv[1]) : 0;
    char byte;
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) {
        perror("PTRACE_SEIZE");
        return 1;
    }
    puts("tracing");
    fflush(stdout);
    while (read(0, &byte, 1) > 0) {
    }
    return 0;
}
