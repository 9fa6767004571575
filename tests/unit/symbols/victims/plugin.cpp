// SPDX-License-Identifier: MIT
// A library that is loaded and unloaded while somebody looks.
extern "C" __attribute__((visibility("default"))) int plugin_work(int n)
{
    return n * 3 + 1;
}
