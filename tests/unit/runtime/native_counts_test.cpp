// SPDX-License-Identifier: MIT
// Tests that compiled clauses count exactly, even if their threads are interrupted or
// die. The program's behaviour must not change.
#include "tests/unit/runtime/native_support.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace runtime_test;

namespace {

TEST(Native, CountsOnTheThreadsOwnCpuWithoutAShard)
{
    InProcess runtime(count_entries);
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
        EXPECT_GT(n.on_cpus, 900u); // a few calls may have been interrupted
    }
}

// The word before the abort address of a restartable sequence must be RSEQ_SIG.
// Otherwise the kernel kills the process.
static const std::uint32_t signed_place[2] = {0x53053053, 0};

TEST(Native, CountsByLocksWhereNoSequenceCanBeUsed)
{
    for (int how = 0; how < 4; how++) {
        InProcess runtime(count_entries);
        runtime.use_rseq = how != 0;
        if (how == 1)
            runtime.session.arena().counters.n_cpus = 0; // no CPU has its own counters
        Function work = runtime.probed({entry}, address(probed_work));
        ASSERT_EQ(runtime.compile(work), "");
        runtime.config().rseq = how != 2;
        // If `how` is 3, the thread seems to be in a restartable sequence of the
        // program. Compiled code must not change rseq_cs. But the kernel clears rseq_cs
        // when it preempts the thread.
        struct rseq_cs its_own {};
        its_own.abort_ip = reinterpret_cast<std::uint64_t>(&signed_place[1]);
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

TEST(Native, CountsExactlyWhateverHappensToItsThreads)
{
    for (const char* actions :
         {"@a = count(); @b = quantize(arg0);",
          "@a[arg0] = count(); @b[arg0 & 3, (char)arg0] = quantize(arg0);",
          "@a = count(); } pid1:a.out:work:entry { @b[arg0] = count();"}) {
        InProcess runtime("pid1:a.out:work:entry { " + std::string(actions) + " }");
        Function work = runtime.probed({entry}, address(probed_work));
        ASSERT_EQ(runtime.compile(work), "");
        for (unsigned i = 0; i < 16; i++)
            call(work, i & 7); // the engine stores the keys
        counted(runtime);
        std::uint64_t n_calls = call_from_many_threads(work, 400000);
        Counted n = counted(runtime);
        EXPECT_EQ(n.all(), 2 * n_calls) << actions;
        EXPECT_EQ(n.by_engine, 0u) << actions;
        EXPECT_GT(n.shared, 0u);
        if (has_rseq()) {
            EXPECT_GT(n.on_cpus, n.shared);
        }
    }
}

// Each step of a debugger interrupts the restartable sequence, which must not restart
// forever.
TEST(Native, ComesToAnEndUnderADebuggersSteps)
{
    InProcess runtime("pid1:a.out:work:entry { @a = count(); @b[arg0] = sum(arg0); }");
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    call(work, 41);
    counted(runtime);
    pid_t child = fork();
    if (child == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        raise(SIGSTOP);
        call(work, 41);
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

TEST(Native, UsesAtMost216BytesOfTheStackItCameOn)
{
    InProcess runtime("pid1:a.out:work:entry"
                      "{ self->t = timestamp - arg0; self->k = (int64_t)1; }"
                      "pid1:a.out:work:return /self->t && self->k/"
                      "{ @[self->k, arg1 + arg0] = quantize(timestamp - self->t);"
                      "trace(self->k); self->t = 0; }");
    runtime.set_clock();
    runtime.add_thread();
    auto* page = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    Function begins = runtime.probed({entry}, address(probed_work));
    begins(); // the engine allocates memory for self->t and self->k
    for (const InProcess::Probe& probe : {entry, ret}) {
        Function work = runtime.probed({probe}, address(probed_work));
        ASSERT_EQ(runtime.compile(work), "");
        for (int i = 0; i < 3; i++) { // the keys are absent at first, then stored
            begins();
            mprotect(page, 4096, PROT_NONE);
            // 8 bytes are for the return address that with_stack_at() pushes.
            with_stack_at(page + 4096 + 216 + 8, work);
            mprotect(page, 4096, PROT_READ | PROT_WRITE);
        }
    }
    munmap(page, 8192);
}

TEST(Native, TakesTheRedZoneForTheProgramsOwn)
{
    InProcess runtime(count_entries);
    Function work = runtime.probed({entry}, address(red_zone_back));
    ASSERT_EQ(runtime.compile(work), "");
    EXPECT_EQ(red_zone_after(work), 0);
    EXPECT_EQ(counted(runtime).all(), 1u);
}

} // namespace
