// SPDX-License-Identifier: MIT
// dlopener PLUGIN ROUNDS CALLS: in each round, loads a plugin, calls it CALLS times and
// unloads it. If the environment contains WAIT, prints "ready" and waits for a byte
// first. If it contains NAMESPACES, also loads the plugin into a new linker namespace.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long call(void *plugin, long calls)
{
    long sum = 0;
    long (*plugin_work)(long) =
        plugin ? (long (*)(long))dlsym(plugin, "plugin_work") : NULL;
    if (plugin_work == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    for (long j = 0; j < calls; ++j)
        sum += plugin_work(j);
    return sum;
}

int main(int argc, char **argv)
{
    long rounds = argc > 2 ? atol(argv[2]) : 3;
    long calls = argc > 3 ? atol(argv[3]) : 100;
    long sum = 0;
    char byte;
    if (getenv("WAIT") != NULL) {
        puts("ready");
        fflush(stdout);
        if (read(0, &byte, 1) != 1)
            return 9;
    }
    for (long i = 0; i < rounds; ++i) {
        void *plugin = dlopen(argv[1], RTLD_NOW);
        sum += call(plugin, calls);
        if (getenv("NAMESPACES") != NULL) {
            void *other = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
            sum += call(other, calls);
            dlclose(other);
        }
        dlclose(plugin);
    }
    printf("sum %ld\n", sum);
    return 0;
}
