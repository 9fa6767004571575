// SPDX-License-Identifier: MIT
// Three threads each load, use and unload a library, so that the libraries replace each
// other at the same addresses. Prints "ready". When its input ends, prints the number
// of wrong results, and how often each library was loaded.
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { n_text = 1150, n_packed = 3000, n_uses = 20, n_threads = 3 };

static char text[n_text];
static int is_over, n_wrong;
static long n_done[n_threads];

static void wrong(const char *library)
{
    printf("wrong: %s\n", library);
    __atomic_add_fetch(&n_wrong, 1, __ATOMIC_RELAXED);
}

static void *open_or_die(const char *name)
{
    void *library = dlopen(name, RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

static void use_bz2(void *library, int first)
{
    static char packed[n_packed];
    static unsigned n;
    int (*pack)(char *, unsigned *, char *, unsigned, int, int, int) =
        dlsym(library, "BZ2_bzBuffToBuffCompress");
    char now[n_packed] = {0};
    unsigned n_now = n_packed;
    int failed = pack(now, &n_now, text, n_text, 9, 0, 0);
    if (first) {
        memcpy(packed, now, n_packed);
        n = n_now;
    }
    if (failed || n_now != n || memcmp(now, packed, n_packed) != 0)
        wrong("libbz2");
}

static void use_lzma(void *library, int first)
{
    static uint32_t sum;
    uint32_t (*crc)(const char *, size_t, uint32_t) = dlsym(library, "lzma_crc32");
    uint32_t now = crc(text, n_text, 0);
    if (first)
        sum = now;
    if (now != sum)
        wrong("liblzma");
}

static void use_zstd(void *library, int first)
{
    static size_t bound;
    size_t (*compress_bound)(size_t) = dlsym(library, "ZSTD_compressBound");
    size_t now = compress_bound(n_text);
    if (first)
        bound = now;
    if (now != bound)
        wrong("libzstd");
}

static const struct {
    const char *name;
    void (*use)(void *library, int first);
} libraries[n_threads] = {
    {"liblzma.so.5", use_lzma}, {"libbz2.so.1.0", use_bz2}, {"libzstd.so.1", use_zstd}};

static void load_and_use(long i, int first)
{
    void *library = open_or_die(libraries[i].name);
    for (int k = 0; k < n_uses; ++k)
        libraries[i].use(library, first);
    dlclose(library);
}

static void *run(void *argument)
{
    long i = (long)argument;
    while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
        load_and_use(i, 0);
        ++n_done[i];
    }
    return NULL;
}

int main(void)
{
    for (int i = 0; i < n_text; ++i)
        text[i] = "what goes up comes down"[i % 23];
    for (long i = 0; i < n_threads; ++i)
        load_and_use(i, 1);
    pthread_t threads[n_threads];
    for (long i = 0; i < n_threads; ++i)
        pthread_create(&threads[i], NULL, run, (void *)i);
    printf("ready\n");
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0)
        ;
    __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < n_threads; ++i)
        pthread_join(threads[i], NULL);
    printf("wrong %d\nuses %ld %ld %ld\n", n_wrong, n_done[0], n_done[1], n_done[2]);
    return n_wrong != 0;
}
