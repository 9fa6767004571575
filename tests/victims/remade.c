// SPDX-License-Identifier: MIT
// Changes its own code. work() and other() have a page each, and different results.
// Prints "ready", then one line for each line of its input:
//
//   calls N    calls work() N times and prints the sum
//   sum        prints a checksum of the text's mapping
//   page       prints a checksum of work()'s page
//   anonymous  replaces the text's mapping with anonymous memory at the same address
//   rewrite    overwrites work() with other(), as a hot patch does
//   back       restores the original bytes
//   protect    makes work()'s page writable and then executable again
//   data       maps data over work()'s page; "calls" fails until "back"
//   unpack     decodes work() from `packed`, which contains its bytes xor 0x55
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page_bytes = 4096 };

__attribute__((noinline, used, section(".text.w"), aligned(4096))) long work(long n,
                                                                             long step)
{
    long sum = 0;
    for (long i = 0; i < (n & 3); ++i)
        sum += n * step;
    return sum + n;
}

__attribute__((noinline, used, section(".text.x"), aligned(4096))) long other(long n,
                                                                              long step)
{
    return n + step * 2 + 1000;
}

__attribute__((used, section(".text.y"), aligned(4096))) void behind(void) {}

// For `unpack`, a test writes the encoded work() to this array in the program's file.
__attribute__((used, section(".data.packed"))) char packed[page_bytes] = "PACKED";

static char at_start[page_bytes];
static long (*volatile the_work)(long, long) = work;

static uint64_t sum_of(const void* from, size_t n)
{
    const unsigned char* at = from;
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < n; ++i)
        hash = (hash ^ at[i]) * 1099511628211ull;
    return hash;
}

static void find_text(uintptr_t* begin, uintptr_t* end)
{
    char line[4352];
    FILE* maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        unsigned long from, to;
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && from <= (uintptr_t)work &&
            (uintptr_t)work < to) {
            *begin = from;
            *end = to;
        }
    }
    if (maps != NULL)
        fclose(maps);
}

static int write_page(const char* from)
{
    void* page = (void*)(uintptr_t)work;
    if (mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
        return 1;
    if (from != NULL)
        memcpy(page, from, page_bytes);
    return mprotect(page, page_bytes, PROT_READ | PROT_EXEC);
}

static int make_anonymous(void)
{
    uintptr_t begin = 0, end = 0;
    find_text(&begin, &end);
    size_t n = end - begin;
    char* copy =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == 0 || copy == MAP_FAILED)
        return 1;
    memcpy(copy, (void*)begin, n);
    mprotect(copy, n, PROT_READ | PROT_EXEC);
    return mremap(copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)begin) ==
           MAP_FAILED;
}

static int make_data(void)
{
    void* page = (void*)(uintptr_t)work;
    munmap(page, page_bytes);
    if (mmap(page, page_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
        return 1;
    memset(page, 0x5a, page_bytes);
    return 0;
}

static int unpack(void)
{
    static char page[page_bytes];
    for (int i = 0; i < page_bytes; ++i)
        page[i] = (char)(packed[i] ^ 0x55);
    return write_page(page);
}

int main(void)
{
    char line[64];
    memcpy(at_start, (void*)(uintptr_t)work, page_bytes);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        uintptr_t begin = 0, end = 0;
        long sum = 0;
        if (!strncmp(line, "calls ", 6)) {
            for (long i = 0, n = atol(line + 6); i < n; ++i)
                sum += the_work(i, 3);
            printf("%ld\n", sum);
        } else if (!strcmp(line, "sum\n")) {
            find_text(&begin, &end);
            printf("%lx\n", sum_of((void*)begin, end - begin));
        } else if (!strcmp(line, "page\n")) {
            printf("%lx\n", sum_of((void*)(uintptr_t)work, page_bytes));
        } else {
            int failed = !strcmp(line, "anonymous\n") ? make_anonymous()
                         : !strcmp(line, "rewrite\n")
                             ? write_page((char*)(uintptr_t)other)
                         : !strcmp(line, "back\n")    ? write_page(at_start)
                         : !strcmp(line, "protect\n") ? write_page(NULL)
                         : !strcmp(line, "data\n")    ? make_data()
                         : !strcmp(line, "unpack\n")  ? unpack()
                                                      : 1;
            puts(failed ? "failed" : "done");
        }
        fflush(stdout);
    }
    return 0;
}
