// SPDX-License-Identifier: MIT
// A library that is loaded and unloaded while a test observes the process.
extern "C" __attribute__((visibility("default"))) int plugin_work(int n)
{
    return n * 3 + 1;
}
