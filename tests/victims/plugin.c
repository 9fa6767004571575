// SPDX-License-Identifier: MIT
// The library that dlopener loads. Its constructor also calls plugin_work(). Because it
// defines la_version(), it can also be loaded with LD_AUDIT.
static volatile long sink;

unsigned la_version(unsigned version);
unsigned la_version(unsigned version)
{
    return version;
}

__attribute__((noinline)) long plugin_work(long n)
{
    sink += n;
    return n + 1;
}

__attribute__((constructor)) static void begin(void)
{
    plugin_work(0);
}
