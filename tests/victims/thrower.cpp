// SPDX-License-Identifier: MIT
// Throws exceptions through the frames of probed functions.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

static volatile long n_done;

__attribute__((noinline)) long work(long n)
{
    n_done = n_done + 1;
    if (n % 3 == 0)
        throw std::runtime_error("third");
    return n;
}

__attribute__((noinline)) long middle(long n)
{
    return work(n) + 1;
}

int main(int argc, char** argv)
{
    long n = argc > 1 ? std::atol(argv[1]) : 300;
    long caught = 0, sum = 0;
    for (long i = 0; i < n; ++i) {
        try {
            sum += middle(i);
        } catch (const std::runtime_error&) {
            caught += 1;
        }
    }
    std::printf("calls %ld caught %ld sum %ld\n", n_done, caught, sum);
    return 0;
}
