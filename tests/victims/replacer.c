// SPDX-License-Identifier: MIT
// replacer PLUGIN PLUGIN ROUNDS [CALLS]: in each round, loads, calls and unloads both
// plugins, one after the other. Prints in how many rounds both plugins had the same
// address. Each plugin is called ten times, or CALLS times with 10 ms per call.
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile long sink;
static long n_calls = 10;
static unsigned usecs;

__attribute__((noinline)) long callback(long n)
{
    sink += n;
    if (usecs != 0)
        usleep(usecs);
    return n + 1;
}

static void *call(const char *path, long n)
{
    void *plugin = dlopen(path, RTLD_NOW);
    long (*plugin_call)(long (*)(long), long) = NULL;
    void *at;

    if (plugin != NULL)
        *(void **)&plugin_call = dlsym(plugin, "plugin_call");
    if (plugin_call == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    *(long (**)(long (*)(long), long))&at = plugin_call;
    for (long i = 0; i < n_calls; ++i)
        sink += plugin_call(callback, n + i);
    dlclose(plugin);
    return at;
}

int main(int argc, char **argv)
{
    long rounds = argc > 3 ? atol(argv[3]) : 10, same = 0;

    if (argc > 4) {
        n_calls = atol(argv[4]);
        usecs = 10000;
    }
    for (long i = 0; i < rounds && argc > 2; ++i)
        same += call(argv[1], i) == call(argv[2], i);
    printf("same %ld\n", same);
    return 0;
}
