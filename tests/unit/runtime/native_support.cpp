// SPDX-License-Identifier: MIT
#include "tests/unit/runtime/native_support.hpp"

#include "dif/counters.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <random>
#include <sched.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace runtime_test {

void call(Function function, unsigned long argument)
{
    reinterpret_cast<void (*)(unsigned long)>(function)(argument);
}

static std::uint64_t sum_of(const std::vector<dif_test::AggEntry>& entries)
{
    std::uint64_t n = 0;
    for (const auto& each : entries)
        for (std::uint64_t word : each.value)
            n += word;
    return n;
}

Counted counted(InProcess& runtime)
{
    Counted n;
    std::vector<char> copy(2 * DT_COUNTERS_BYTES);
    dt_u64 from = 0;
    dt_s64 bytes =
        dt_drain_counters(runtime.session.memory(), 0, &from, copy.data(), copy.size());
    for (dt_s64 at = 0; at < bytes;) {
        dt_aggent e;
        std::memcpy(&e, copy.data() + at, sizeof e);
        for (unsigned i = 0; i < e.value_bytes; i += 8) {
            std::uint64_t word;
            std::memcpy(&word, copy.data() + at + sizeof e + e.key_bytes + i, 8);
            n.shared += word;
        }
        at += e.bytes;
    }
    n.on_cpus = sum_of(runtime.session.counters());
    n.by_engine = sum_of(runtime.session.aggregations());
    return n;
}

std::uint64_t fired_by_engine(InProcess& runtime)
{
    std::uint64_t n = 0;
    for (unsigned i = 0; i < runtime.session.arena().n_shards; i++)
        n += runtime.session.shard(i).fired;
    return n;
}

bool has_rseq()
{
    return __rseq_size != 0;
}

struct rseq& own_rseq()
{
    auto* thread = static_cast<char*>(__builtin_thread_pointer());
    return *reinterpret_cast<struct rseq*>(thread + __rseq_offset);
}

std::uint64_t call_from_many_threads(Function function, unsigned n_calls,
                                     const std::function<void()>& meanwhile)
{
    constexpr unsigned n_threads = 50;
    static Function work;
    static std::atomic<std::uint64_t> n_handled;
    work = function;
    n_handled = 0;
    struct sigaction action {};
    action.sa_handler = [](int) {
        n_handled++;
        call(work, 7);
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    std::atomic<pid_t> tids[n_threads] = {};
    std::atomic<unsigned> n_done{0};
    std::atomic<bool> go_on{true};
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < n_threads; t++)
        threads.emplace_back([&, t] {
            tids[t] = gettid();
            for (unsigned i = 0; i < n_calls; i++) {
                if (t % 5 == 0 && i == n_calls / 2 && has_rseq())
                    syscall(SYS_rseq, &own_rseq(), 32, RSEQ_FLAG_UNREGISTER, RSEQ_SIG);
                call(work, i & 7);
            }
            n_done++;
            while (go_on)
                sched_yield();
        });
    std::mt19937 random(1);
    for (unsigned i = 0; n_done < n_threads; i++) {
        if (meanwhile)
            meanwhile();
        unsigned t = random() % n_threads;
        if (tids[t] == 0)
            continue;
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        CPU_SET(i % static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN)), &cpus);
        sched_setaffinity(tids[t], sizeof cpus, &cpus);
        syscall(SYS_tgkill, getpid(), tids[random() % n_threads].load(), SIGUSR1);
    }
    go_on = false;
    for (auto& thread : threads)
        thread.join();
    signal(SIGUSR1, SIG_DFL);
    return std::uint64_t{n_threads} * n_calls + n_handled;
}

} // namespace runtime_test
