// SPDX-License-Identifier: MIT
// unwinder ROUNDS throws exceptions of several kinds through probed functions, and
// sometimes cancels a thread. Prints how many rounds and cancelled threads were
// correct.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pthread.h>
#include <stdexcept>
#include <string>
#include <unistd.h>

static volatile long n_destroyed, n_calls;

struct Guard {
    ~Guard() { n_destroyed = n_destroyed + 1; }
};

struct Odd : std::runtime_error {
    explicit Odd(long n) : std::runtime_error(std::to_string(n)), n(n) {}
    long n;
};

extern "C" {

__attribute__((noinline)) void thrower(long n)
{
    n_calls = n_calls + 1;
    throw Odd(n);
}

// The call is inside the window of the entry probe.
__attribute__((noinline, noreturn)) void calls_at_once(long n)
{
    thrower(n);
    std::abort();
}

__attribute__((noinline)) long through(long n)
{
    Guard guard;
    calls_at_once(n);
    return n;
}

__attribute__((noinline)) long again(long n)
{
    Guard guard;
    try {
        return through(n);
    } catch (const Odd&) {
        throw;
    }
}

__attribute__((noinline)) long nested(long n)
{
    try {
        return again(n);
    } catch (...) {
        try {
            return through(n + 1);
        } catch (const Odd& second) {
            return second.n;
        }
    }
}

__attribute__((noinline)) void cancelled(int fd)
{
    Guard guard;
    char byte;
    n_calls = n_calls + 1;
    if (read(fd, &byte, 1) == 1)
        std::abort();
}

static void* run(void* fd)
{
    Guard guard;
    cancelled(*static_cast<int*>(fd));
    return nullptr;
}
}

int main(int argc, char** argv)
{
    long rounds = argc > 1 ? std::atol(argv[1]) : 1000;
    long good = 0, unwound = 0;
    int fds[2];
    if (pipe(fds) != 0)
        return 9;
    for (long i = 0; i < rounds; ++i) {
        good += nested(i) == i + 1;
        if (i % 10 == 0) {
            pthread_t thread;
            void* result = nullptr;
            pthread_create(&thread, nullptr, run, fds);
            pthread_cancel(thread);
            pthread_join(thread, &result);
            unwound += result == PTHREAD_CANCELED;
        }
    }
    // A thread that is cancelled before it runs has no frames to unwind. So these
    // numbers differ between runs.
    std::printf("good %ld unwound %ld\n", good, unwound);
    std::fprintf(stderr, "destroyed %ld calls %ld\n", n_destroyed, n_calls);
    return 0;
}
