// SPDX-License-Identifier: MIT
// Shows how far the program has run: stage is 1 after the constructor, and 2 in main().
#include <stdio.h>

volatile int stage;

__attribute__((constructor)) static void construct(void)
{
    stage = 1;
}

int main(void)
{
    int seen = stage;
    stage = 2;
    printf("main saw stage %d\n", seen);
    return 5;
}
