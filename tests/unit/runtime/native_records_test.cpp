// SPDX-License-Identifier: MIT
// Tests that compiled clauses write complete records, with the same contents as the
// engine's records.
#include "tests/unit/runtime/native_support.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace runtime_test;

namespace {

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

// The times of the records in a shard never decrease.
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
    // Values that a target can overwrite must not be trusted.
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
    // The engine runs only firings that find a busy shard or a full buffer.
    EXPECT_LT(fired_by_engine(runtime), n_calls);
}

// Kills a thread at each instruction of the compiled code. An unpublished record must
// not be visible, and another thread must be able to use the shard.
TEST(Native, WhoIsKilledInItLeavesWholeRecordsAndNoShardBehind)
{
    InProcess runtime("pid1:a.out:work:entry { @[arg0] = count(); trace(arg0); }", 1);
    runtime.set_clock();
    Function work = runtime.probed({entry}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    call(work, 5); // the engine stores the key
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

} // namespace
