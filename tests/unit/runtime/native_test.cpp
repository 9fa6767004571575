// SPDX-License-Identifier: MIT
// Compiled clauses count exactly, whatever happens to their threads, and the program
// notices nothing.
#include "tests/unit/runtime/in_process.hpp"

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <linux/rseq.h>
#include <random>
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace runtime_test;

namespace {

const char* const count = "pid1:a.out:work:entry { @ = count(); }";
const InProcess::Probe entry{"pid1:a.out:work:entry"};
const InProcess::Probe ret{"pid1:a.out:work:return", DT_RT_RETURN, 0x17};

const void* address(void (*function)())
{
    return reinterpret_cast<const void*>(function);
}

struct Counted {
    std::uint64_t on_cpus = 0, shared = 0, by_engine = 0;
    std::uint64_t all() const { return on_cpus + shared + by_engine; }
};

std::uint64_t sum_of(const std::vector<dif_test::AggEntry>& entries)
{
    std::uint64_t n = 0;
    for (const auto& each : entries)
        for (std::uint64_t word : each.value)
            n += word;
    return n;
}

// How many events a clause with count() or quantize() had, and where.
Counted counted(InProcess& runtime)
{
    Counted n;
    std::vector<char> copy(2 * DT_COUNTERS_BYTES);
    dt_s64 bytes = dt_drain_counters(runtime.session.memory(), 0, copy.data(), copy.size());
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

bool has_rseq()
{
    return __rseq_size != 0;
}

struct rseq& own_rseq()
{
    auto* thread = static_cast<char*>(__builtin_thread_pointer());
    return *reinterpret_cast<struct rseq*>(thread + __rseq_offset);
}

TEST(Native, CountsOnTheThreadsOwnCpuWithoutAShard)
{
    InProcess runtime(count);
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    for (unsigned n = 0; n < runtime.session.arena().n_shards; n++)
        runtime.session.shard(n).lock = 1;
    for (int i = 0; i < 1000; i++)
        work();
    Counted n = counted(runtime);
    EXPECT_EQ(n.all(), 1000u);
    EXPECT_EQ(n.by_engine, 0u);
    if (has_rseq()) {
        EXPECT_GT(n.on_cpus, 900u); // a tick of the clock may have come between
    }
}

TEST(Native, CountsByLocksWhereNoSequenceCanBeUsed)
{
    for (int how = 0; how < 4; how++) {
        InProcess runtime(count);
        runtime.use_rseq = how != 0;
        runtime.session.arena().counters.n_cpus = how == 1 ? 0 : 64; // none for this CPU
        Function work = runtime.probed({entry}, address(probed_work));
        ASSERT_EQ(runtime.compile(work), "");
        runtime.config().rseq = how != 2;
        // As if in a sequence of the program: not to be touched. The kernel clears what
        // does not hold at the next preemption.
        struct rseq_cs its_own {};
        unsigned kept = 0;
        for (int i = 0; i < 1000; i++) {
            if (how == 3 && has_rseq())
                own_rseq().rseq_cs = reinterpret_cast<std::uint64_t>(&its_own);
            work();
            kept += how == 3 && has_rseq() && own_rseq().rseq_cs != 0;
        }
        if (has_rseq())
            own_rseq().rseq_cs = 0;
        Counted n = counted(runtime);
        EXPECT_EQ(n.all(), 1000u) << how;
        if (how == 3 && has_rseq()) {
            EXPECT_GT(kept, 900u);
            EXPECT_GT(n.shared, 900u);
        } else {
            EXPECT_EQ(n.shared, 1000u) << how;
        }
    }
}

// Fifty threads on two CPUs that are moved, interrupted, and some of which give their
// registration up.
TEST(Native, CountsExactlyWhateverHappensToItsThreads)
{
    constexpr unsigned n_threads = 50, n_calls = 400000;
    InProcess runtime("pid1:a.out:work:entry { @a = count(); @b = quantize(arg0); }");
    static Function work;
    static std::atomic<std::uint64_t> n_handled;
    work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    n_handled = 0;
    struct sigaction action {};
    action.sa_handler = [](int) {
        n_handled++;
        reinterpret_cast<void (*)(unsigned long)>(work)(7);
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
                reinterpret_cast<void (*)(unsigned long)>(work)(i & 7);
            }
            n_done++;
            while (go_on)
                sched_yield();
        });
    std::mt19937 random(1);
    for (unsigned i = 0; n_done < n_threads; i++) {
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
    Counted n = counted(runtime);
    EXPECT_EQ(n.all(), 2 * (std::uint64_t{n_threads} * n_calls + n_handled));
    EXPECT_EQ(n.by_engine, 0u);
    EXPECT_GT(n.shared, 0u);
    if (has_rseq()) {
        EXPECT_GT(n.on_cpus, n.shared);
    }
}

// Each step takes the CPU away: a sequence that began anew would never end.
TEST(Native, ComesToAnEndUnderADebuggersSteps)
{
    InProcess runtime("pid1:a.out:work:entry { @a = count(); @b = sum(arg0); }");
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        reinterpret_cast<void (*)(unsigned long)>(work)(41);
        _exit(7);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    const auto code = reinterpret_cast<std::uint64_t>(runtime.base()) + DT_RT_CODE;
    unsigned n_inside = 0;
    for (int i = 0; i < 100000 && WIFSTOPPED(status); i++) {
        user_regs_struct regs{};
        ptrace(PTRACE_GETREGS, child, nullptr, &regs);
        n_inside += regs.rip - code < DT_RT_CODE_BYTES;
        ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
        ASSERT_EQ(waitpid(child, &status, 0), child);
    }
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    EXPECT_GT(n_inside, 20u);
    EXPECT_LT(n_inside, 200u);
    EXPECT_EQ(counted(runtime).shared, 42u);
    if (!WIFEXITED(status)) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
}

TEST(Native, UsesAtMost184BytesOfTheStackItCameOn)
{
    InProcess runtime("pid1:a.out:work:entry { self->t = timestamp - arg0; }"
                      "pid1:a.out:work:return /self->t/"
                      "{ @ = quantize(timestamp - self->t); self->t = 0; }");
    runtime.set_clock();
    runtime.add_thread();
    auto* page = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    for (const InProcess::Probe& probe : {entry, ret}) {
        Function work = runtime.probed({probe}, address(probed_work));
        work(); // the engine makes the slot
        ASSERT_EQ(runtime.compile(work), "");
        mprotect(page, 4096, PROT_NONE);
        with_stack_at(page + 4096 + 184 + 8, work); // 8 for the call's return address
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
    }
    munmap(page, 8192);
}

TEST(Native, TakesTheRedZoneForTheProgramsOwn)
{
    InProcess runtime(count);
    Function work = runtime.probed({entry}, address(red_zone_back));
    ASSERT_EQ(runtime.compile(work), "");
    EXPECT_EQ(red_zone_after(work), 0);
    EXPECT_EQ(counted(runtime).all(), 1u);
}

TEST(Native, LeavesAProbeThatGotASecondClauseToTheEngine)
{
    InProcess runtime(count);
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    work();
    runtime.load("pid1:a.out:work:entry { @second = count(); }");
    work();
    Counted n = counted(runtime);
    EXPECT_EQ(n.by_engine, 2u);
    EXPECT_EQ(n.all(), 3u);
}

TEST(Native, IsForOneClauseThatRecordsNothing)
{
    const char* const texts[] = {
        "{ @[arg0] = count(); }",
        "{ trace(arg0); }",
        "{ exit(0); }",
        "{ @ = quantize(*(int *)arg0); }",
        "{ this->x = arg0; @ = sum(this->x); }",
        "/execname == \"a\"/ { @ = count(); }",
        "{ @ = sum(arg0 / arg1); }",
        "{ x = arg0; }",
    };
    for (const char* text : texts) {
        InProcess runtime("pid1:a.out:work:entry " + std::string(text));
        Function work = runtime.probed({entry}, address(probed_work));
        EXPECT_NE(runtime.compile(work), "") << text;
    }
}

} // namespace
