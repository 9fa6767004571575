// SPDX-License-Identifier: MIT
// Two threads enter a function at its second byte, as Go does with goexit. They compute
// this address, so no branch in the code leads to it. Prints "ready". After a byte on
// stdin, prints the number of wrong results.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int work(int n);
__asm__(".text\n.globl work\n.type work, @function\n.balign 16\n"
        "work:\n"
        "  nop\n"
        "  lea 7(%rdi), %eax\n" // stray() calls this address
        "  xor $5, %eax\n"
        "  ret\n"
        ".size work, . - work\n");

static atomic_int over;
static atomic_long wrong;

static void* stray(void* arg)
{
    volatile uintptr_t behind = 1;
    (void)arg;
    for (int n = 0; !atomic_load(&over); n = (n + 1) & 0xffff) {
        int (*inside)(int) = (int (*)(int))((uintptr_t)work + behind);
        if (inside(n) != ((n + 7) ^ 5))
            atomic_fetch_add(&wrong, 1);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    char byte;
    for (int i = 0; i < 2; ++i)
        pthread_create(&threads[i], NULL, stray, NULL);
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) < 0) {
    }
    atomic_store(&over, 1);
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
    printf("wrong %ld\n", atomic_load(&wrong));
    return 0;
}
