// SPDX-License-Identifier: MIT
// Compiled clauses count exactly and record whole records, whatever happens to their
// threads, and the program notices nothing.
#include "tests/unit/runtime/in_process.hpp"

#include "dif/counters.h"

#include <atomic>
#include <csignal>
#include <functional>
#include <gtest/gtest.h>
#include <linux/rseq.h>
#include <map>
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
    dt_s64 bytes =
        dt_drain_counters(runtime.session.memory(), 0, copy.data(), copy.size());
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

void call(Function function, unsigned long argument)
{
    reinterpret_cast<void (*)(unsigned long)>(function)(argument);
}

// Of the first clause.
const dt_action& aggregation(InProcess& runtime)
{
    dt_clause& clause = runtime.session.clause(0);
    auto* actions =
        static_cast<dt_action*>(dt_at(runtime.session.memory(), clause.actions));
    return actions[clause.n_actions - 1];
}

dt_counted_key& counted_key(InProcess& runtime, const dt_action& action, unsigned n)
{
    return *static_cast<dt_counted_key*>(
        dt_at(runtime.session.memory(), runtime.session.arena().counters.sets +
                                            dt_counted_at(&action) +
                                            (n << dt_counted_key_shift(&action))));
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
        if (how == 1)
            runtime.session.arena().counters.n_cpus = 0; // none for this CPU
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
// registration up: how many calls they made.
std::uint64_t call_from_many_threads(Function function, unsigned n_calls,
                                     const std::function<void()>& meanwhile = {})
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
            call(work, i & 7); // so that the keys are known
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

// Each step takes the CPU away: a sequence that began anew would never end.
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
    begins(); // the engine makes the slots
    for (const InProcess::Probe& probe : {entry, ret}) {
        Function work = runtime.probed({probe}, address(probed_work));
        ASSERT_EQ(runtime.compile(work), "");
        for (int i = 0; i < 3; i++) { // absent, then known
            begins();
            mprotect(page, 4096, PROT_NONE);
            with_stack_at(page + 4096 + 216 + 8, work); // 8 for the return address
            mprotect(page, 4096, PROT_READ | PROT_WRITE);
        }
    }
    munmap(page, 8192);
}

TEST(Native, CountsAKeyFromItsSecondTimeOn)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0 & 63, arg0] = sum(arg0); }");
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    for (int i = 0; i < 5; i++)
        call(work, 67);
    auto entries = runtime.session.aggregations(); // the engine's are first
    ASSERT_GE(entries.size(), 2u);
    EXPECT_EQ(entries[0].value[0], 67u);
    std::uint64_t sum = 0;
    for (const auto& each : entries) {
        std::uint64_t key[2];
        ASSERT_EQ(each.key.size(), sizeof key);
        std::memcpy(key, each.key.data(), sizeof key);
        EXPECT_EQ(key[0], 3u);
        EXPECT_EQ(key[1], 67u);
        sum += each.value[0];
    }
    EXPECT_EQ(sum, 5u * 67);
}

// Two probes of one clause, each with its name; what the engine made of it and what was
// counted are one key to the consumer.
TEST(Native, CountsByTheNamesOfTheProbeAndWhoTheThreadIs)
{
    InProcess runtime("pid1:a.out::entry"
                      "{ @[probefunc, tid, probemod] = count(); trace(pid); }");
    runtime.set_clock();
    runtime.add_thread();
    auto* enablings = static_cast<dt_enabling*>(
        dt_at(runtime.session.memory(), runtime.session.arena().enablings.at));
    const char* const functions[] = {"one", "the_other"};
    for (const char* function : functions) {
        std::uint32_t probe =
            dt_probe_add(runtime.session.memory(), "pid1", "a.out", function, "entry");
        ASSERT_NE(dt_ecb_add(runtime.session.memory(), probe, enablings[0].clause), 0u);
    }
    for (const char* function : functions) {
        Function work = runtime.probed(
            {{"pid1:a.out:" + std::string(function) + ":entry"}}, address(probed_work));
        ASSERT_EQ(runtime.compile(work), "");
        for (int i = 0; i < 5; i++)
            work();
    }
    EXPECT_EQ(fired_by_engine(runtime), 2u);
    std::map<std::string, std::uint64_t> counts;
    for (const auto& each : runtime.session.aggregations())
        counts[each.key] += each.value[0];
    EXPECT_EQ(counts.size(), 2u);
    const std::uint64_t strsize = runtime.session.arena().options[DTRACEOPT_strsize];
    for (const char* function : functions) {
        std::string key = function;
        key.resize(strsize);
        const auto tid = static_cast<std::uint32_t>(gettid());
        key.append(reinterpret_cast<const char*>(&tid), sizeof tid);
        key.resize(strsize + 8);
        key += "a.out";
        key.resize(2 * strsize + 8);
        EXPECT_EQ(counts[key], 5u) << function;
    }
    for (const auto& record : runtime.session.records()) {
        std::uint32_t pid;
        std::memcpy(&pid, record.payload.data(), sizeof pid);
        EXPECT_EQ(pid, runtime.config().pid);
    }
}

TEST(Native, LeavesKeysForWhichThereIsNoPlaceToTheEngine)
{
    constexpr std::uint64_t n_keys = 15000;
    InProcess runtime("pid1:a.out:work:entry { @[arg0] = count(); }");
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    for (int round = 0; round < 3; round++)
        for (std::uint64_t key = 0; key < n_keys; key++)
            call(work, key * 0x1001);
    std::map<std::string, std::uint64_t> counts;
    std::uint64_t by_engine = 0;
    for (const auto& each : runtime.session.counters())
        counts[each.key] += each.value[0];
    EXPECT_GT(counts.size(), 4000u);
    EXPECT_LE(counts.size(), aggregation(runtime).counted_keys);
    for (const auto& each : runtime.session.aggregations()) {
        counts[each.key] += each.value[0];
        by_engine += each.value[0];
    }
    EXPECT_GT(by_engine, n_keys);
    EXPECT_EQ(counts.size(), n_keys);
    for (const auto& [key, n] : counts)
        EXPECT_EQ(n, 3u);
}

// Whoever claimed a place and died there leaves it to nobody.
TEST(Native, WaitsForNoPlaceThatIsClaimed)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0] = count(); }");
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    const dt_action& action = aggregation(runtime);
    for (unsigned i = 0; i < action.counted_keys; i++)
        counted_key(runtime, action, i).state = DT_COUNTED_CLAIMED;
    for (unsigned i = 0; i < 100; i++)
        call(work, i & 3);
    Counted n = counted(runtime);
    EXPECT_EQ(n.by_engine, 100u);
    EXPECT_EQ(n.all(), 100u);
}

const char* const records_two = "pid1:a.out:work:entry"
                                "{ printf(\"%d %d\", arg0, ~arg0); }";

TEST(Native, RecordsWhatTheEngineWouldRecord)
{
    InProcess runtime("pid1:a.out:work:entry"
                      "{ trace((char)arg0); trace(timestamp); trace((short)arg0);"
                      " trace(arg0); trace((int)arg0); }");
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    call(work, 0xfedcba9876543210);
    ASSERT_EQ(runtime.compile(work), "");
    call(work, 0xfedcba9876543210);
    EXPECT_EQ(fired_by_engine(runtime), 1u);
    auto records = runtime.session.records();
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].epid, records[1].epid);
    EXPECT_EQ(records[1].flags, 0u);
    EXPECT_LT(records[1].cpu, sysconf(_SC_NPROCESSORS_CONF));
    EXPECT_GT(records[1].timestamp, records[0].timestamp);
    for (const auto& record : records) {
        EXPECT_EQ(record.u64(8), record.timestamp);
        EXPECT_EQ(record.payload[0], 0x10);
        EXPECT_EQ(record.payload.substr(16, 2), "\x10\x32");
        EXPECT_EQ(record.u64(24), 0xfedcba9876543210);
        EXPECT_EQ(record.payload.substr(32, 4), "\x10\x32\x54\x76");
    }
}

// No record's time is before that of the one before it in the shard.
TEST(Native, RecordsNoTimeBeforeTheShardsLast)
{
    InProcess runtime(records_two, 1);
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    const std::uint64_t far = runtime.session.session().clock.mono_ns << 1;
    runtime.session.shard(0).last_timestamp = far;
    work();
    auto records = runtime.session.records();
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].timestamp, far);
    EXPECT_EQ(fired_by_engine(runtime), 0u);
}

TEST(Native, LeavesABusyShardAndAFullBufferToTheEngine)
{
    InProcess runtime(records_two, 2, [](dt_arena_config& config) {
        config.options[DTRACEOPT_bufsize] = 10 * 32;
    });
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    for (unsigned n = 0; n < 2; n++)
        runtime.session.shard(n).lock = 1;
    work();
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 1u);
    for (unsigned n = 0; n < 2; n++)
        runtime.session.shard(n).lock = 0;
    for (unsigned i = 0; i < 100; i++)
        work();
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_PRINCIPAL) +
                  runtime.session.records().size(),
              100u);
    EXPECT_GE(runtime.session.drops(DTRACEDROP_PRINCIPAL), 80u);
    for (unsigned n = 0; n < 2; n++)
        EXPECT_EQ(runtime.session.shard(n).lock, 0u);
    // Scribbled over: not believed.
    for (unsigned n = 0; n < 2; n++) {
        runtime.session.shard(n).active = 0xffffffff;
        for (auto& buffer : runtime.session.shard(n).principal)
            buffer.used = 0x7ffffffffffffff8;
    }
    const std::uint64_t n_drops = runtime.session.drops(DTRACEDROP_PRINCIPAL);
    work();
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_PRINCIPAL), n_drops + 1);
}

TEST(Native, RecordsWholeRecordsWhateverHappensToItsThreads)
{
    InProcess runtime(records_two);
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    std::uint64_t n_records = 0, n_bad = 0;
    auto drain = [&] {
        for (const auto& record : runtime.session.records()) {
            n_records++;
            n_bad += record.u64(8) != ~record.u64(0) || record.u64(0) > 7;
        }
    };
    std::uint64_t n_calls = call_from_many_threads(work, 100000, drain);
    drain();
    EXPECT_EQ(n_bad, 0u);
    EXPECT_EQ(n_records + runtime.session.drops(DTRACEDROP_PRINCIPAL) +
                  runtime.session.drops(DTRACEDROP_NOSHARD),
              n_calls);
    EXPECT_LT(fired_by_engine(runtime), n_calls / 2);
}

// At each instruction once. What it did not publish nobody sees, and its shard goes on.
TEST(Native, WhoIsKilledInItLeavesWholeRecordsAndNoShardBehind)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0] = count(); trace(arg0); }", 1);
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    call(work, 5); // so that the key is known
    ASSERT_EQ(runtime.session.records().size(), 1u);
    counted(runtime);
    const auto code = reinterpret_cast<std::uint64_t>(runtime.base()) + DT_RT_CODE;
    unsigned n_held = 0, n_published = 0, n_inside = 0;
    for (bool all = false; !all && n_inside < 1000; n_inside++) {
        pid_t child = fork();
        if (child == 0) {
            ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
            raise(SIGSTOP);
            call(work, 5);
            raise(SIGSTOP);
            _exit(0);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        for (unsigned steps = 0; steps <= n_inside;) {
            user_regs_struct regs{};
            ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
            ASSERT_EQ(waitpid(child, &status, 0), child);
            ptrace(PTRACE_GETREGS, child, nullptr, &regs);
            steps += regs.rip - code < DT_RT_CODE_BYTES;
            all = WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
            if (all)
                break;
        }
        kill(child, SIGKILL);
        ASSERT_EQ(waitpid(child, &status, 0), child);
        n_held += runtime.session.shard(0).lock != 0;
        dt_clean(runtime.session.memory(), 1, 0, dif_test::Session::nobody_lives);
        EXPECT_EQ(runtime.session.shard(0).lock, 0u);
        auto records = runtime.session.records();
        ASSERT_LE(records.size(), 1u);
        n_published += !records.empty();
        for (const auto& record : records)
            EXPECT_EQ(record.u64(), 5u);
        call(work, 5);
        EXPECT_EQ(runtime.session.records().size(), 1u);
    }
    EXPECT_GT(n_held, 15u);
    EXPECT_GT(n_published, 2u);
    EXPECT_LT(n_inside, 1000u);
    EXPECT_GE(counted(runtime).all(), n_inside + n_published);
}

TEST(Native, TakesTheRedZoneForTheProgramsOwn)
{
    InProcess runtime(count);
    Function work = runtime.probed({entry}, address(red_zone_back));
    ASSERT_EQ(runtime.compile(work), "");
    EXPECT_EQ(red_zone_after(work), 0);
    EXPECT_EQ(counted(runtime).all(), 1u);
}

// A clause that is the engine's has all that come after it, too.
TEST(Native, RunsTheClausesOfAProbeInTheirOrder)
{
    const char* const entries = "pid1:a.out:work:entry { self->n += arg0; }"
                                "pid1:a.out:work:entry /self->n > 10/ { @ = count(); }"
                                "pid1:a.out:work:entry { trace(self->n); }";
    const char* const more = "pid1:a.out:work:entry { this->n = self->n;"
                             " trace(-this->n); }"
                             "pid1:a.out:work:entry { self->n -= 1; }";
    for (bool with_engine : {false, true}) {
        InProcess runtime(std::string(entries) + (with_engine ? more : ""), 1);
        runtime.set_clock();
        runtime.add_thread();
        Function work = runtime.probed({entry}, address(probed_work));
        call(work, 5); // the engine makes the slot
        ASSERT_EQ(runtime.compile(work), "");
        for (int i = 0; i < 3; i++)
            call(work, 5);
        EXPECT_EQ(fired_by_engine(runtime), with_engine ? 4u : 1u);
        std::vector<std::int64_t> recorded;
        for (const auto& record : runtime.session.records())
            recorded.push_back(static_cast<std::int64_t>(record.u64()));
        if (with_engine)
            EXPECT_EQ(recorded,
                      (std::vector<std::int64_t>{5, -5, 9, -9, 13, -13, 17, -17}));
        else
            EXPECT_EQ(recorded, (std::vector<std::int64_t>{5, 10, 15, 20}));
        EXPECT_EQ(counted(runtime).all(), 2u);
    }
}

// What was done is not done again.
TEST(Native, GoesOnInTheEngineWhereAClauseCannot)
{
    InProcess runtime("pid1:a.out:work:entry { @ = count(); }"
                      "pid1:a.out:work:entry { @k[arg0] = count(); }"
                      "pid1:a.out:work:entry { trace(arg0); }",
                      1);
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    call(work, 1); // a new key
    EXPECT_EQ(fired_by_engine(runtime), 1u);
    call(work, 1);
    EXPECT_EQ(fired_by_engine(runtime), 1u);
    runtime.session.shard(0).lock = 1;
    call(work, 1);
    EXPECT_EQ(runtime.session.drops(DTRACEDROP_NOSHARD), 1u);
    runtime.session.shard(0).lock = 0;
    EXPECT_EQ(counted(runtime).all(), 6u);
    EXPECT_EQ(runtime.session.records().size(), 2u);
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

TEST(Native, IsForOneClauseOfIntegers)
{
    const char* const texts[] = {
        "{ @[execname] = count(); }",
        "{ @[strlen(probefunc)] = count(); }",
        "{ @[arg0, arg1, arg2, arg4] = count(); }",
        "{ @[probename, arg0, arg1, arg2] = count(); }",
        "{ @[arg0] = max(arg1); }",
        "{ @[arg0] = lquantize(arg1, 0, 10); }",
        "{ self->k = arg0; @[self->k] = count(); }",
        "{ @[self->k = arg0] = count(); }",
        "{ trace(execname); }",
        "{ trace(arg0); exit(0); }",
        "{ @[arg0] = avg(arg1); }",
        "{ speculate(arg0); trace(arg0); }",
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
    InProcess ring("pid1:a.out:work:entry { trace(arg0); }", 1,
                   [](dt_arena_config& config) {
                       config.options[DTRACEOPT_bufpolicy] = DT_BUFPOLICY_RING;
                   });
    EXPECT_NE(ring.compile(ring.probed({entry}, address(probed_work))), "");
}

} // namespace
