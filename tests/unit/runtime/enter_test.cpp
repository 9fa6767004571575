// SPDX-License-Identifier: MIT
// Tests the code that enters and leaves the runtime. The probed program must not notice
// the runtime.
#include "tests/unit/runtime/in_process.hpp"

#include <atomic>
#include <csignal>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace runtime_test;

namespace {

const char* const count = "pid1:a.out:work:entry { @ = count(); }";

std::uint64_t fires_counted(InProcess& runtime)
{
    std::uint64_t n = 0;
    for (const auto& entry : runtime.session.aggregations())
        n += entry.value[0];
    return n;
}

TEST(Enter, WaitsForTheAgentIfTheEngineIsNeededWhileItIsAway)
{
    InProcess runtime(count, 4);
    Function work = runtime.probed({entry}, address(probed_work));
    runtime.config().away = DT_RT_AWAY;
    std::atomic<bool> returned{false};
    std::thread caller([&] {
        work();
        returned = true;
    });
    usleep(20'000);
    EXPECT_FALSE(returned);
    EXPECT_EQ(fires_counted(runtime), 0u);
    __atomic_store_n(&runtime.config().away, DT_RT_PRESENT, __ATOMIC_SEQ_CST);
    caller.join();
    EXPECT_EQ(fires_counted(runtime), 1u);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 0u);
}

TEST(Enter, CountsADropIfTheEngineIsNeededWhileTheAgentIsKeptOut)
{
    InProcess runtime(count, 4);
    Function work = runtime.probed({entry}, address(probed_work));
    runtime.config().away = DT_RT_KEPT_OUT;
    for (int i = 0; i < 3; i++)
        work();
    EXPECT_EQ(fires_counted(runtime), 0u);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 3u);
    runtime.config().away = DT_RT_PRESENT;
    work();
    EXPECT_EQ(fires_counted(runtime), 1u);
}

TEST(Enter, CountsEachCallOfEightThreadsOnce)
{
    InProcess runtime(count, 16);
    Function work = runtime.probed({entry}, address(probed_work));
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 100000; i++)
                work();
        });
    for (auto& thread : threads)
        thread.join();
    EXPECT_EQ(fires_counted(runtime) + runtime.session.drops(DTRACEDROP_NOSHARD),
              800000u);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 0u);
    EXPECT_EQ(runtime.n_upcalls, 0u);
}

// An aggregation buffer holds about 90 keys, and each thread stores 500 keys per round.
// So full shards must be parked (dif/shard.c).
TEST(Enter, ParksShardsWithoutLosingAFiring)
{
    InProcess runtime("pid1:a.out:work:entry { @[timestamp] = count(); }", 128,
                      [](dt_arena_config& config) {
                          config.options[DTRACEOPT_aggsize] = 8192;
                          config.n_parkable = 64;
                      });
    Function work = runtime.probed({entry}, address(probed_work));
    std::uint64_t n = 0;
    for (int round = 0; round < 20; round++) {
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++)
            threads.emplace_back([&] {
                for (int i = 0; i < 500; i++)
                    work();
            });
        if (round % 2 == 1)
            n += fires_counted(runtime); // while the threads run
        for (auto& thread : threads)
            thread.join();
        n += fires_counted(runtime);
    }
    EXPECT_EQ(n, 40000u);
    for (unsigned shard = 0; shard < runtime.session.arena().n_shared; shard++)
        EXPECT_EQ(runtime.session.shard(shard).lock, 0u) << shard;
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_AGGREGATION), 0u);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 0u);
}

TEST(Enter, LeavesAllGeneralRegistersAndFlagsAsTheyWere)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0, timestamp] = quantize(arg1); }");
    Function work = runtime.probed({entry}, address(probed_work));
    std::mt19937_64 random(1);
    for (int i = 0; i < 2000; i++) {
        Registers before;
        auto* words = reinterpret_cast<std::uint64_t*>(&before);
        for (unsigned n = 0; n < sizeof before / 8; n++)
            words[n] = random();
        before.rflags = 0x202 | (random() & arithmetic);
        before.rflags |= i % 3 == 1 ? direction : 0;
        before.rflags |= i % 5 == 1 ? alignment : 0;
        Registers after = before;
        with_registers(&after, work);
        ASSERT_EQ(std::memcmp(&before, &after, sizeof before), 0)
            << std::hex << before.rflags << " " << after.rflags;
    }
}

TEST(Enter, KeepsRegistersOfASiteThatFiresNothing)
{
    for (int how = 0; how < 3; how++) {
        InProcess runtime(count);
        Function work = runtime.probed({entry}, address(probed_work));
        runtime.live() = how != 0;
        if (how == 1)
            runtime.set_inert(work);
        runtime.config().alive = how == 2 ? 0x40000000 : 0;
        for (std::uint64_t flags : {0x202ul, 0x202 | arithmetic, 0x602ul}) {
            Registers before;
            std::memset(&before, 0x5a, sizeof before);
            before.rflags = flags;
            Registers after = before;
            with_registers(&after, work);
            EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
        }
        EXPECT_EQ(fires_counted(runtime), 0u);
    }
}

std::uint64_t blocked_signals(const std::uint64_t* set = nullptr)
{
    std::uint64_t before = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, &before, sizeof before);
    return before;
}

// If the agent dies while it has blocked a thread's signals, the thread restores its
// mask at the next site.
TEST(Enter, PutsBackTheMaskThatADeadAgentLeftBehind)
{
    const std::uint64_t mine = 1ull << (SIGUSR2 - 1);
    const std::uint64_t theirs = ~0ull << 40;
    struct {
        bool fires, gathered, dead, same_thread, same_mask;
    } const cases[] = {
        {true, true, true, true, true},  {false, true, true, true, true},
        {true, true, true, false, true}, {false, true, true, false, true},
        {true, true, true, true, false}, {false, true, true, true, false},
        {true, true, false, true, true}, {false, true, false, true, true},
        {true, false, true, true, true}};
    for (const auto& c : cases) {
        InProcess runtime(count);
        Function work = runtime.probed({entry}, address(probed_work));
        if (!c.fires)
            runtime.set_inert(work);
        dt_rt_config& config = runtime.config();
        config.gather = c.gathered;
        config.alive = c.dead ? 0x40000000 : 1;
        config.masked_tid = static_cast<dt_u32>(gettid() + (c.same_thread ? 0 : 1));
        config.mask_before = mine;
        config.mask_now = c.same_mask ? theirs : theirs << 1;
        for (std::uint64_t flags : {0x202ul, 0x202 | arithmetic, 0x602ul, 0x40202ul}) {
            std::uint64_t before = blocked_signals(&theirs);
            Registers registers;
            std::memset(&registers, 0x5a, sizeof registers);
            registers.rflags = flags;
            Registers after = registers;
            with_registers(&after, work);
            std::uint64_t left = blocked_signals(&before);
            EXPECT_EQ(std::memcmp(&registers, &after, sizeof registers), 0);
            bool put_back = c.gathered && c.dead && c.same_thread && c.same_mask;
            EXPECT_EQ(left, put_back ? mine : theirs)
                << c.fires << c.gathered << c.dead << c.same_thread << c.same_mask;
        }
    }
}

// If a debugger steps over the runtime's pushfq, the pushed flags contain TF. The
// runtime must not restore TF from them.
TEST(Enter, KeepsADebuggersStepOutOfTheProgramsFlags)
{
    InProcess runtime(count);
    Function work = runtime.probed({entry}, address(probed_work));
    for (long backwards : {0, 1}) {
        pid_t child = fork();
        if (child == 0) {
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            raise(SIGSTOP);
            // A step over popfq would set the program's own TF.
            std::uint64_t after;
            __asm__ volatile("lea -256(%%rsp), %%rsp\n"
                             "test %2, %2\n"
                             "jz 1f\n"
                             "std\n"
                             "1: call *%1\n"
                             "pushfq\n"
                             "pop %0\n"
                             "cld\n"
                             "lea 256(%%rsp), %%rsp"
                             : "=&r"(after)
                             : "r"(work), "r"(backwards)
                             : "cc", "memory");
            _exit((after & direction) != 0 ? 8 : 7);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        // Step until the runtime has created its stack frame.
        auto base = reinterpret_cast<std::uint64_t>(runtime.base());
        bool inside = false;
        for (int i = 0; i < 100000 && !inside; i++) {
            ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
            ASSERT_EQ(waitpid(child, &status, 0), child);
            ASSERT_TRUE(WIFSTOPPED(status));
            user_regs_struct regs{};
            ptrace(PTRACE_GETREGS, child, nullptr, &regs);
            inside = regs.rip == base + runtime.header().frame_begin;
        }
        EXPECT_TRUE(inside);
        ptrace(PTRACE_CONT, child, nullptr, nullptr);
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7 + backwards)
            << status;
        if (!WIFEXITED(status)) {
            kill(child, SIGKILL);
            waitpid(child, &status, 0);
        }
    }
}

TEST(Enter, FiresAConditionalReturnOnlyWhenTheJumpIsTaken)
{
    InProcess runtime(count);
    for (unsigned i = 0; i < 32; i++) {
        const unsigned cc = i % 16;
        Function work =
            runtime.probed({entry}, address(probed_work), DT_RT_CONDITIONAL | cc);
        if (i >= 16)
            runtime.move_to_session(work, DT_RT_MAX_SESSIONS - 1);
        for (unsigned bits = 0; bits < 32; bits++) {
            bool c = bits & 1, p = bits & 2, z = bits & 4, s = bits & 8, o = bits & 16;
            const bool asked[] = {o, c, z, c || z, s, p, s != o, z || s != o};
            Registers registers{};
            registers.rflags = 0x202 | c | p << 2 | z << 6 | s << 7 | o << 11;
            Registers before = registers;
            with_registers(&registers, work);
            ASSERT_EQ(std::memcmp(&before, &registers, sizeof before), 0);
            EXPECT_EQ(fires_counted(runtime), asked[cc / 2] != (cc % 2))
                << cc << " " << bits;
        }
    }
}

TEST(Enter, FiresForEachSessionAtTheSameInstruction)
{
    InProcess runtime(count);
    std::vector<Function> sites;
    for (unsigned session : {0, 1, 2, 31, 62, 63}) {
        sites.push_back(runtime.probed({entry}, address(probed_work)));
        runtime.move_to_session(sites.back(), session);
    }
    for (std::size_t i = 1; i < sites.size(); i++)
        runtime.chain(sites[i - 1], sites[i]);
    for (std::uint64_t flags : {0x202ul, 0x202 | arithmetic, 0x202 | direction}) {
        for (bool compiled : {false, true}) {
            Registers registers{};
            registers.rflags = flags;
            registers.rax = 1, registers.rbx = 2, registers.rcx = 3, registers.rdx = 4;
            registers.r11 = 5, registers.r15 = 6;
            const Registers before = registers;
            for (Function site : {sites[0], sites[3], sites[5]}) {
                if (compiled) {
                    ASSERT_EQ(runtime.compile(site), "");
                }
            }
            with_registers(&registers, sites[0]);
            EXPECT_EQ(std::memcmp(&before, &registers, sizeof before), 0);
            EXPECT_EQ(fires_counted(runtime), sites.size());
        }
    }
}

TEST(Enter, FiresAnOffsetProbeOfAConditionalReturnInAnyCase)
{
    InProcess runtime("pid1:a.out:work:entry, pid1:a.out:work:return"
                      "{ @[probename] = count(); }");
    for (unsigned cc = 0; cc < 16; cc++) {
        Function work = runtime.probed({{"pid1:a.out:work:entry", DT_RT_OFFSET},
                                        {"pid1:a.out:work:return", DT_RT_RETURN}},
                                       address(probed_work));
        runtime.site_of(work).taken = DT_RT_CONDITIONAL | cc;
        for (unsigned bits = 0; bits < 32; bits++) {
            bool c = bits & 1, p = bits & 2, z = bits & 4, s = bits & 8, o = bits & 16;
            const bool asked[] = {o, c, z, c || z, s, p, s != o, z || s != o};
            Registers registers{};
            registers.rflags = 0x202 | c | p << 2 | z << 6 | s << 7 | o << 11;
            with_registers(&registers, work);
            std::map<std::string, std::uint64_t> counts;
            for (const auto& entry : runtime.session.aggregations())
                counts[entry.key.c_str()] = entry.value[0];
            EXPECT_EQ(counts["entry"], 1u) << cc << " " << bits;
            EXPECT_EQ(counts["return"], asked[cc / 2] != (cc % 2)) << cc << " " << bits;
        }
    }
}

TEST(Enter, TakesTheRedZoneForTheProgramsOwn)
{
    InProcess runtime(count);
    Function work = runtime.probed({entry}, address(red_zone_back));
    EXPECT_EQ(red_zone_after(work), 0);
    EXPECT_EQ(fires_counted(runtime), 1u);
}

TEST(Enter, WorksOnAnyAlignmentOfTheStack)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0] = count(); }");
    Function work = runtime.probed({entry}, address(probed_work));
    for (long off = 0; off < 64; off++)
        with_stack_off_by(off, work);
    EXPECT_EQ(fires_counted(runtime), 64u);
}

TEST(Enter, UsesAtMost160BytesOfTheStackItCameOn)
{
    InProcess runtime("pid1:a.out:work:entry { @[timestamp] = count(); }");
    Function work = runtime.probed({entry}, address(probed_work));
    auto* page = static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(page, 4096, PROT_NONE);
    // 8 bytes are for the return address that with_stack_at() pushes.
    with_stack_at(page + 4096 + 160 + 8, work);
    EXPECT_EQ(fires_counted(runtime), 1u);
    munmap(page, 8192);
}

TEST(Enter, CountsADropForEachFiringThatFindsNoShardFree)
{
    InProcess runtime(count, 2);
    Function work = runtime.probed({entry, entry}, address(probed_work));
    for (unsigned n = 0; n < 2; n++)
        runtime.session.shard(n).lock = 1;
    Registers before{}, after{};
    before.rflags = after.rflags = 0x202 | arithmetic;
    with_registers(&after, work);
    EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 2u);
    runtime.session.shard(1).lock = 0;
    work();
    EXPECT_EQ(fires_counted(runtime), 2u);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 2u);
    for (unsigned n = 0; n < 2; n++)
        EXPECT_EQ(runtime.session.shard(n).lock, n == 0 ? 1u : 0u);
}

TEST(Enter, FindsShardsWhenThereAreFewerThanProcessors)
{
    InProcess runtime(count, 1);
    Function work = runtime.probed({entry}, address(probed_work));
    for (auto method : {DT_RT_CPU_RDPID, DT_RT_CPU_LSL}) {
        if (method == DT_RT_CPU_RDPID && runtime.config().cpu_method != method)
            continue;
        runtime.config().cpu_method = method;
        std::vector<std::thread> threads;
        for (int t = 0; t < 4; t++)
            threads.emplace_back([&] {
                for (int i = 0; i < 1000; i++)
                    work();
            });
        for (auto& thread : threads)
            thread.join();
    }
    EXPECT_EQ((fires_counted(runtime) + runtime.session.drops(DTRACEDROP_NOSHARD)) %
                  4000,
              0u);
}

Function nested_work;
std::atomic<unsigned> n_alarms;

TEST(Enter, FiresInASignalHandlerThatInterruptsAFiring)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0] = count(); this->a = arg0;"
                      " this->b = this->a * 3 + 1; this->c = this->b * 3 + 1; }",
                      8);
    nested_work = runtime.probed({entry}, address(probed_work));
    n_alarms = 0;
    struct sigaction action {};
    action.sa_handler = [](int) {
        n_alarms++;
        nested_work();
    };
    sigaction(SIGALRM, &action, nullptr);
    itimerval often{{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, nullptr);
    unsigned n = 0;
    for (; n_alarms < 300 && n < 50000000; n++)
        nested_work();
    often = {};
    setitimer(ITIMER_REAL, &often, nullptr);
    signal(SIGALRM, SIG_DFL);
    EXPECT_GE(n_alarms, 300u);
    EXPECT_EQ(fires_counted(runtime), n + n_alarms);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 0u);
}

TEST(Enter, FiresOnASignalStackOfTheSmallestSize)
{
    InProcess runtime(count);
    nested_work = runtime.probed({entry}, address(probed_work));
    std::vector<char> memory(static_cast<std::size_t>(sysconf(_SC_MINSIGSTKSZ)) + 512);
    stack_t stack{memory.data(), 0, memory.size()};
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    struct sigaction action {};
    action.sa_handler = [](int) { nested_work(); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
    EXPECT_EQ(fires_counted(runtime), 1u);
}

} // namespace
