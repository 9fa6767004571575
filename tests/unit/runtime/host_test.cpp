// SPDX-License-Identifier: MIT
// Tests the values that D programs get inside a target.
#include "dif/vars.h"
#include "tests/unit/runtime/in_process.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace runtime_test;

namespace {

std::string on_entry(const std::string& body)
{
    return "pid1:a.out:work:entry { " + body + " }";
}

const void* work()
{
    return reinterpret_cast<const void*>(probed_work);
}

template <typename... Args> void call(Function function, Args... args)
{
    reinterpret_cast<void (*)(Args...)>(function)(args...);
}

std::uint64_t now_ns(clockid_t clock)
{
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

class Time : public testing::TestWithParam<const char*> {};

TEST_P(Time, OfARecordIsTheMonotonicClocks)
{
    InProcess runtime(on_entry("trace(timestamp); trace(walltimestamp);"));
    Function probed = runtime.probed({entry}, work());
    std::string how = GetParam();
    if (how == "line")
        runtime.set_clock();
    if (how == "agent") {
        runtime.config().may_call = 0;
        runtime.upcall = [](dt_rt_upcall& call) {
            call.value = now_ns(call.op == DT_RT_UP_TIMESTAMP ? CLOCK_MONOTONIC
                                                              : CLOCK_REALTIME);
            return call.op == DT_RT_UP_TIMESTAMP || call.op == DT_RT_UP_WALLTIME ? 0
                                                                                 : -1;
        };
    }
    for (int i = 0; i < 50; i++) {
        std::uint64_t before = now_ns(CLOCK_MONOTONIC), wall = now_ns(CLOCK_REALTIME);
        probed();
        std::uint64_t after = now_ns(CLOCK_MONOTONIC);
        auto records = runtime.session.records();
        ASSERT_EQ(records.size(), 1u);
        EXPECT_EQ(records[0].timestamp, records[0].u64());
        EXPECT_GE(records[0].timestamp + 2000, before);
        EXPECT_LE(records[0].timestamp, after + 2000);
        EXPECT_GE(records[0].u64(8) + 4000, wall);
        EXPECT_LE(records[0].u64(8), wall + (after - before) + 4000);
    }
    if (how != "agent") {
        EXPECT_EQ(runtime.n_upcalls, 0u);
    }
}
INSTANTIATE_TEST_SUITE_P(Runtime, Time, testing::Values("line", "call", "agent"));

TEST(Runtime, CountsCpuTimeOfTheThread)
{
    InProcess runtime(on_entry("trace(vtimestamp);"));
    Function probed = runtime.probed({entry}, work());
    std::uint64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID);
    probed();
    std::uint64_t got = runtime.session.records().at(0).u64();
    EXPECT_GE(got, before);
    EXPECT_LE(got, now_ns(CLOCK_THREAD_CPUTIME_ID));
}

TEST(Runtime, KeepsThreadLocalVariablesApart)
{
    InProcess runtime("pid1:a.out:work:entry { self->n = arg0; }"
                      "pid1:a.out:work:return /self->n/"
                      "{ @[self->n, tid] = count(); self->n = 0; }",
                      8);
    Function in = runtime.probed({entry}, work()), out = runtime.probed({ret}, work());
    std::vector<std::thread> threads;
    std::vector<std::uint64_t> tids(5);
    for (std::uint64_t t = 1; t <= 4; t++)
        threads.emplace_back([&, t] {
            if (t % 2) // a thread that is not added reads its tid with a system call
                runtime.add_thread();
            tids[t] = static_cast<std::uint64_t>(gettid());
            for (int i = 0; i < 1000; i++) {
                call(in, t);
                call(out);
            }
        });
    for (auto& thread : threads)
        thread.join();
    std::uint64_t n[5] = {};
    for (const auto& e : runtime.session.aggregations()) {
        std::uint64_t value, tid;
        std::memcpy(&value, e.key.data(), 8);
        std::memcpy(&tid, e.key.data() + 8, 4);
        ASSERT_LT(value, 5u);
        EXPECT_EQ(static_cast<std::uint32_t>(tid), tids[value]);
        n[value] += e.value[0];
    }
    for (int t = 1; t <= 4; t++)
        EXPECT_EQ(n[t], 1000u) << t;
    EXPECT_EQ(runtime.n_upcalls, 0u);
}

TEST(Runtime, AsksTheAgentForAThreadThatNobodyElseKnows)
{
    InProcess runtime(on_entry("trace(tid); trace(pid);"));
    Function probed = runtime.probed({entry}, work());
    runtime.set_clock();
    runtime.config().may_call = 0;
    runtime.upcall = [](dt_rt_upcall& call) {
        call.value = 70ull << 32 | 71;
        return call.op == DT_RT_UP_TID ? 0 : -1;
    };
    probed();
    auto record = runtime.session.records().at(0);
    EXPECT_EQ(static_cast<std::uint32_t>(record.u64()), 71u);
    EXPECT_EQ(static_cast<std::uint32_t>(record.u64() >> 32), 70u);
    EXPECT_EQ(runtime.n_upcalls, 1u);
}

TEST(Runtime, EvaluatesPredicates)
{
    InProcess runtime(
        "pid1:a.out:work:entry /arg0 > 10 && arg1 == 3/ { trace(arg0); }");
    Function probed = runtime.probed({entry}, work());
    for (std::uint64_t i = 0; i < 20; i++)
        call(probed, i, i % 4);
    auto records = runtime.session.records();
    ASSERT_EQ(records.size(), 3u);
    EXPECT_EQ(records[0].u64(), 11u);
}

TEST(Runtime, PassesTenArgumentsToAnEntryAndTwoToAReturn)
{
    InProcess runtime(on_entry("trace(arg0); trace(arg5); trace(arg6); trace(arg9);") +
                      "pid1:a.out:work:return"
                      "{ trace(arg0); trace(arg1); trace(arg2); trace(arg7); }");
    auto* add = reinterpret_cast<const void*>(probed_add);
    Function probed = runtime.probed({entry, ret}, add);
    call(probed, 10ul, 11ul, 12ul, 13ul, 14ul, 15ul, 16ul, 17ul, 18ul, 19ul);
    auto records = runtime.session.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].u64(0), 10u);
    EXPECT_EQ(records[0].u64(8), 15u);
    EXPECT_EQ(records[0].u64(16), 16u);
    EXPECT_EQ(records[0].u64(24), 19u);
    EXPECT_EQ(records[1].u64(0), 0x17u);
    EXPECT_EQ(records[1].u64(16), 0u);
    EXPECT_EQ(records[1].u64(24), 0u);
}

TEST(Runtime, ShowsTheRegistersOfTheProgram)
{
    InProcess runtime(
        on_entry("trace(uregs[0]); trace(uregs[11]); trace(uregs[13]);"
                 " trace(uregs[14]); trace(uregs[17]); trace(uregs[19]);"));
    Function probed = runtime.probed({entry}, work());
    Registers registers{};
    registers.r15 = 115;
    registers.rbx = 103;
    registers.rcx = 101;
    registers.rax = 100;
    registers.rflags = 0x202 | 0x8d5 | 0x400;
    with_registers(&registers, probed);
    auto record = runtime.session.records().at(0);
    EXPECT_EQ(record.u64(0), 115u);
    EXPECT_EQ(record.u64(8), 103u);
    EXPECT_EQ(record.u64(16), 101u);
    EXPECT_EQ(record.u64(24), 100u);
    EXPECT_EQ(record.u64(32), reinterpret_cast<std::uint64_t>(probed_work));
    EXPECT_EQ(record.u64(40), registers.rflags);
    EXPECT_EQ(runtime.n_upcalls, 0u);
}

TEST(Runtime, KnowsTheProcessWithoutAsking)
{
    InProcess runtime(on_entry("trace(execname); trace(ppid); trace(uid); trace(errno);"
                               " trace(cpu);"));
    Function probed = runtime.probed({entry}, work());
    errno = 0;
    runtime.config().errno_known = 1;
    std::uint64_t fs_base;
    __asm__ volatile("mov %%fs:0, %0" : "=r"(fs_base));
    runtime.config().errno_offset =
        static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(&errno) - fs_base);
    errno = ENOTTY;
    probed();
    auto record = runtime.session.records().at(0);
    EXPECT_EQ(record.text(), "in_process");
    EXPECT_EQ(static_cast<std::uint32_t>(record.u64(256)),
              static_cast<std::uint32_t>(getppid()));
    EXPECT_EQ(static_cast<std::uint32_t>(record.u64(256) >> 32), geteuid());
    EXPECT_EQ(static_cast<std::uint32_t>(record.u64(264)), std::uint32_t{ENOTTY});
    EXPECT_LT(record.u64(264) >> 32, 4096u);
    EXPECT_EQ(runtime.n_upcalls, 0u);
}

// --- memory ---

enum class Reading { range, call, guess };

class Memory : public testing::TestWithParam<Reading> {
protected:
    Memory() : runtime("pid1:a.out:work:entry { trace(copyinstr(arg0)); }")
    {
        pages = static_cast<char*>(mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE,
                                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        mprotect(pages + 2 * 4096, 4096, PROT_NONE);
        probed = runtime.probed({entry}, work());
        if (GetParam() == Reading::range)
            runtime.add_range(pages, 2 * 4096);
        if (GetParam() == Reading::guess)
            runtime.set_clock();
        runtime.config().may_call = GetParam() != Reading::guess;
    }
    ~Memory() override { munmap(pages, 3 * 4096); }
    InProcess runtime;
    Function probed = nullptr;
    char* pages = nullptr;
};

TEST_P(Memory, StringsAreReadAcrossPages)
{
    char* at = pages + 4096 - 3;
    std::strcpy(at, "hello there");
    call(probed, at);
    EXPECT_EQ(runtime.session.records().at(0).text(), "hello there");
    EXPECT_EQ(runtime.n_faults, 0u);
    EXPECT_EQ(runtime.n_upcalls, 0u);
}

TEST_P(Memory, ABadAddressIsAFaultThatNamesIt)
{
    std::memset(pages, 'x', 2 * 4096);
    call(probed, pages + 2 * 4096 - 5);
    auto records = runtime.session.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].flags, DT_REC_ERROR);
    EXPECT_EQ(records[0].error().fault, std::uint32_t{DTRACEFLT_BADADDR});
    EXPECT_EQ(records[0].error().value,
              reinterpret_cast<std::uint64_t>(pages + 2 * 4096));
    call(probed, static_cast<char*>(nullptr));
    EXPECT_EQ(runtime.session.records().at(0).error().value, 0u);
}

TEST_P(Memory, MemoryThatWentAfterTheAgentLookedIsAFault)
{
    mprotect(pages, 4096, PROT_NONE);
    call(probed, pages + 100);
    auto records = runtime.session.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].flags, DT_REC_ERROR);
    EXPECT_EQ(records[0].error().value / 4096,
              reinterpret_cast<std::uint64_t>(pages) / 4096);
}
INSTANTIATE_TEST_SUITE_P(Runtime, Memory,
                         testing::Values(Reading::range, Reading::call,
                                         Reading::guess));

TEST(Runtime, SearchesManyRanges)
{
    InProcess runtime(on_entry("trace(copyinstr(arg0));"));
    Function probed = runtime.probed({entry}, work());
    std::vector<char> memory(64 * 64);
    for (int i = 0; i < 64; i++) {
        std::snprintf(&memory[64 * i], 64, "at %d", i);
        runtime.add_range(&memory[64 * i], 32);
    }
    runtime.config().may_call = 0;
    runtime.set_clock();
    for (int i : {5, 5, 63, 0, 31, 32}) {
        call(probed, &memory[64 * i]);
        EXPECT_EQ(runtime.session.records().at(0).text(), "at " + std::to_string(i));
    }
    EXPECT_EQ(runtime.n_faults, 0u);
}

TEST(Runtime, StoresWhereTheProgramCouldAndNowhereElse)
{
    for (bool may_call : {true, false}) {
        InProcess runtime(on_entry("copyoutstr(\"new\", arg0, 4);"));
        Function probed = runtime.probed({entry}, work());
        runtime.set_clock();
        runtime.config().may_call = may_call;
        char text[16] = "old one";
        call(probed, text);
        EXPECT_STREQ(text, "new");
        EXPECT_EQ(runtime.session.records().size(), 0u);
        // Addresses of a constant, and of the runtime's text, its stacks and the arena.
        const void* refused[] = {"constant", runtime.base() + 64,
                                 runtime.base() + DT_RT_REGION_BYTES + 64,
                                 runtime.session.memory()};
        for (const void* at : refused) {
            call(probed, at);
            auto records = runtime.session.records();
            ASSERT_EQ(records.size(), 1u);
            EXPECT_EQ(records[0].error().fault, std::uint32_t{DTRACEFLT_BADADDR});
        }
    }
}

// --- upcalls to the agent ---

TEST(Runtime, AsksTheAgentForStacksAndWhatOnlyProcCanTell)
{
    InProcess runtime(on_entry("ustack(3); trace(cwd); trace(progenyof(1));"));
    Function probed = runtime.probed({entry}, work());
    runtime.upcall = [](dt_rt_upcall& call) {
        auto* to = reinterpret_cast<char*>(call.a[call.op == DT_RT_UP_USTACK ? 0 : 1]);
        std::uint64_t pcs[] = {0x1000, 0x2000};
        switch (call.op) {
        case DT_RT_UP_USTACK:
            std::memcpy(to, pcs, sizeof pcs);
            call.value = 2;
            return 0;
        case DT_RT_UP_VAR_STRING:
            std::memcpy(to, "/tmp", 4);
            call.value = 4;
            return call.a[0] == DIF_VAR_cwd ? 0 : -1;
        case DT_RT_UP_PROGENYOF:
            call.value = call.a[0] == 1;
            return 0;
        }
        return -1;
    };
    probed();
    auto record = runtime.session.records().at(0);
    EXPECT_EQ(record.u64(0), static_cast<std::uint64_t>(getpid()));
    EXPECT_EQ(record.u64(8), 0x1000u);
    EXPECT_EQ(record.u64(16), 0x2000u);
    EXPECT_EQ(record.u64(24), 0u);
    EXPECT_EQ(record.text(32), "/tmp");
    EXPECT_EQ(runtime.n_upcalls, 3u);
}

TEST(Runtime, RaisesASignalAtTheThreadThatFired)
{
    static int n_signals;
    n_signals = 0;
    signal(SIGUSR2, [](int) { n_signals++; });
    InProcess runtime(on_entry("raise(12);"));
    Function probed = runtime.probed({entry}, work());
    probed();
    EXPECT_EQ(n_signals, 1);
    runtime.config().may_call = 0;
    runtime.upcall = [](dt_rt_upcall& call) {
        return call.op == DT_RT_UP_RAISE && call.a[0] == 12 ? 0 : -1;
    };
    probed();
    EXPECT_EQ(runtime.n_upcalls, 1u);
    signal(SIGUSR2, SIG_DFL);
}

TEST(Runtime, DoesNotTrapWhenTheAgentOrTheConsumerIsGone)
{
    InProcess runtime(on_entry("@[cwd] = count();"));
    Function probed = runtime.probed({entry}, work());
    runtime.set_clock();
    runtime.session.session().lease_until = 1;
    runtime.session.shard(0).last_timestamp = runtime.session.shard(1).last_timestamp =
        runtime.session.shard(2).last_timestamp =
            runtime.session.shard(3).last_timestamp = 2;
    probed();
    runtime.session.session().lease_until = 0;
    runtime.config().alive = 0x40000000;
    probed();
    EXPECT_EQ(runtime.n_upcalls, 0u);
}

} // namespace
