// SPDX-License-Identifier: MIT
// What dlopener loads. Its constructor calls the function too.
static volatile long sink;

__attribute__((noinline)) long plugin_work(long n)
{
    sink += n;
    return n + 1;
}

__attribute__((constructor)) static void begin(void)
{
    plugin_work(0);
}
