// SPDX-License-Identifier: MIT
// Samples of all processes: the kernel's records, the walk of a copied stack, and the
// names of processes.
#include "libdtrace/session/sampling/fatal_signals.hpp"
#include "libdtrace/session/sampling/perf_sample.hpp"
#include "libdtrace/session/sampling/program_arguments.hpp"
#include "libdtrace/session/sampling/sampled_stacks.hpp"
#include "libdtrace/session/sampling/sampled_targets.hpp"
#include "libdtrace/session/sampling/sampled_tasks.hpp"

#include <array>
#include <bit>
#include <csignal>
#include <cstring>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <unistd.h>
#include <vector>

namespace dt {

namespace {

constexpr std::uint64_t code = 0x10000; // an address that is never mapped

// Builds a record of the kernel.
class RecordWriter {
public:
    explicit RecordWriter(std::uint32_t type, std::uint16_t misc = 0)
    {
        header_.type = type;
        header_.misc = misc;
        bytes_.resize(sizeof header_);
    }
    template <class T> RecordWriter& put(T value)
    {
        const auto* from = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), from, from + sizeof value);
        return *this;
    }
    std::vector<std::byte> done()
    {
        header_.size = static_cast<std::uint16_t>(bytes_.size());
        std::memcpy(bytes_.data(), &header_, sizeof header_);
        return bytes_;
    }

private:
    perf_event_header header_{};
    std::vector<std::byte> bytes_;
};

RecordWriter& end_with_ids(RecordWriter& record, std::uint64_t time_ns)
{
    return record.put(std::uint32_t{7})
        .put(std::uint32_t{8})
        .put(time_ns)
        .put(std::uint64_t{1})
        .put(std::uint64_t{99});
}

PerfContents with_stacks()
{
    PerfContents contents;
    contents.stack_bytes = 64;
    contents.kernel_stack = true;
    return contents;
}

std::vector<std::byte> complete_sample()
{
    RecordWriter record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    record.put(std::uint64_t{99}).put(std::uint64_t{0xffff'0001});
    record.put(std::uint32_t{70}).put(std::uint32_t{71}).put(std::uint64_t{5'000});
    record.put(std::uint32_t{3}).put(std::uint32_t{0});
    record.put(std::uint64_t{3}).put(static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL));
    record.put(std::uint64_t{0xffff'0001}).put(std::uint64_t{0xffff'0002});
    record.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
    for (int i = 0; i < std::popcount(sampled_registers); i++)
        record.put(std::uint64_t{100} + static_cast<unsigned>(i));
    record.put(std::uint64_t{64});
    for (std::uint64_t i = 0; i < 8; i++)
        record.put(i);
    return record.put(std::uint64_t{24}).done(); // the copied part of the 64 bytes
}

TEST(PerfSample, FieldsAreInTheKernelsOrder)
{
    const auto record = complete_sample();
    EXPECT_EQ(record_time(record), 5'000u);
    const auto sample = sample_in(record, with_stacks());
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->event, 99u);
    EXPECT_EQ(sample->pid, 70);
    EXPECT_EQ(sample->tid, 71);
    EXPECT_EQ(sample->cpu, 3u);
    EXPECT_TRUE(sample->in_kernel);
    EXPECT_EQ(sample->kernel_stack,
              (std::vector<std::uint64_t>{0xffff'0001, 0xffff'0002}));
    ASSERT_TRUE(sample->user);
    EXPECT_EQ((*sample->user)[Reg::rax], 100u); // the first in PERF_REG_X86_*
    EXPECT_EQ((*sample->user)[Reg::r15],
              100u + static_cast<unsigned>(std::popcount(sampled_registers)) - 1);
    EXPECT_EQ(sample->user_stack.size(), 24u);
}

TEST(PerfSample, TheRecordOfATracepointPrecedesTheRegisters)
{
    PerfContents contents;
    contents.record = true;
    RecordWriter writer(PERF_RECORD_SAMPLE);
    writer.put(std::uint64_t{99}).put(std::uint64_t{1});
    writer.put(std::uint32_t{70}).put(std::uint32_t{71}).put(std::uint64_t{5'000});
    writer.put(std::uint32_t{3}).put(std::uint32_t{0});
    writer.put(std::uint32_t{12}).put(std::uint64_t{0x1234}).put(std::uint32_t{5});
    auto bare = writer.done();
    writer.put(std::uint64_t{PERF_SAMPLE_REGS_ABI_NONE});
    const auto complete = writer.done();
    const auto sample = sample_in(complete, contents);
    ASSERT_TRUE(sample);
    ASSERT_EQ(sample->record.size(), 12u);
    EXPECT_EQ(sample->record[0], std::byte{0x34});
    EXPECT_FALSE(sample->user);
    EXPECT_EQ(event_in(complete), 99u);
    EXPECT_FALSE(sample_in(bare, contents));
    contents.registers = false;
    EXPECT_TRUE(sample_in(bare, contents));
    bare.resize(bare.size() - 1);
    EXPECT_FALSE(sample_in(bare, contents));
    EXPECT_FALSE(event_in(std::span(bare).first(12)));
}

TEST(PerfSample, ATruncatedRecordIsRefused)
{
    auto record = complete_sample();
    while (record.size() > sizeof(perf_event_header)) {
        record.pop_back();
        EXPECT_FALSE(sample_in(record, with_stacks())) << record.size();
    }
}

TEST(PerfSample, OtherRecordsAreTaskEventsOrLosses)
{
    RecordWriter named(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    named.put(7).put(8).put(std::array<char, 8>{"program"});
    const auto event = task_event_in(end_with_ids(named, 123).done());
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, PerfTaskEvent::execed);
    EXPECT_EQ(event->pid, 7);
    EXPECT_EQ(event->tid, 8);
    EXPECT_EQ(event->name, "program");
    EXPECT_EQ(record_time(named.done()), 123u);

    RecordWriter lost(PERF_RECORD_LOST);
    lost.put(std::uint64_t{99}).put(std::uint64_t{12});
    EXPECT_EQ(lost_in(end_with_ids(lost, 1).done()), 12u);
    EXPECT_FALSE(task_event_in(lost.done()));
    EXPECT_FALSE(sample_in(lost.done(), {}));
}

// A sample in code without call frame information, with this stack.
PerfSample sample_of(const std::vector<std::uint64_t>& stack, std::uint64_t sp,
                     std::uint64_t bp)
{
    PerfSample sample;
    sample.pid = ::getpid();
    sample.user.emplace();
    sample.user->rip = code;
    (*sample.user)[Reg::rsp] = sp;
    (*sample.user)[Reg::rbp] = bp;
    sample.user_stack = std::as_bytes(std::span(stack));
    return sample;
}

std::vector<std::uint64_t> walked(const PerfSample& sample, std::uint32_t max)
{
    std::vector<std::uint64_t> pcs(max);
    SampledStacks stacks;
    pcs.resize(stacks.walk(sample, pcs.data(), max));
    return pcs;
}

TEST(SampledStacks, FramePointersLeadToCallers)
{
    const std::vector<std::uint64_t> stack{1, 0x1020, code + 1, 2, 0, code + 2};
    const auto sample = sample_of(stack, 0x1000, 0x1008);
    EXPECT_EQ(walked(sample, 9),
              (std::vector<std::uint64_t>{code, code + 1, code + 2}));
    EXPECT_EQ(walked(sample, 2), (std::vector<std::uint64_t>{code, code + 1}));
    EXPECT_EQ(walked(sample, 0), std::vector<std::uint64_t>{});
}

TEST(SampledStacks, AWalkEndsAtAFrameThatDoesNotLeadUp)
{
    // The saved %rbp is the address of the frame itself.
    const std::vector<std::uint64_t> loop{0x1000, code + 1, 0, 0};
    EXPECT_EQ(walked(sample_of(loop, 0x1000, 0x1000), 100),
              (std::vector<std::uint64_t>{code, code + 1}));
    // The saved %rbp is outside the copy.
    const std::vector<std::uint64_t> out{0x100'0000, code + 1};
    EXPECT_EQ(walked(sample_of(out, 0x1000, 0x1000), 100),
              (std::vector<std::uint64_t>{code, code + 1}));
}

TEST(SampledStacks, AThreadWithoutUserModeHasNoStack)
{
    PerfSample sample;
    EXPECT_EQ(walked(sample, 9), std::vector<std::uint64_t>{});
}

TEST(SampledStacks, OnlyTheCopiedBytesCanBeRead)
{
    const std::vector<std::uint64_t> words{11, 12};
    const auto sample = sample_of(words, 0x1000, 0);
    const StackCopy copy(sample);
    std::uint64_t value = 0;
    EXPECT_TRUE(copy.word(0x1008, value));
    EXPECT_EQ(value, 12u);
    for (std::uint64_t at : {0xff8ull, 0xfffull, 0x1009ull, 0x1010ull, ~0ull})
        EXPECT_FALSE(copy.word(at, value)) << at;
    EXPECT_EQ(copy.bytes(0x100c, 100).size(), 4u);
    EXPECT_EQ(copy.bytes(0x1010, 1).size(), 0u);
}

TEST(SampledTasks, NamesFollowTheKernelsRecords)
{
    constexpr pid_t parent = 1'000'000'001, child = 1'000'000'002; // no such processes
    SampledTasks tasks;
    tasks.change({PerfTaskEvent::named, parent, parent, 0, "shell"});
    tasks.change({PerfTaskEvent::forked, child, child, parent, ""});
    EXPECT_EQ(tasks.name_of(child), "shell");
    EXPECT_EQ(tasks.parent_of(child), parent);
    EXPECT_TRUE(tasks.is_descendant(child, parent));
    EXPECT_FALSE(tasks.is_descendant(parent, child));
    tasks.change({PerfTaskEvent::execed, child, child, 0, "program"});
    tasks.change({PerfTaskEvent::named, child, child + 7, 0, "thread"});
    EXPECT_EQ(tasks.name_of(child), "program");
    EXPECT_EQ(tasks.name_of(parent), "shell");
}

TEST(SampledTasks, AnExitedProcessIsKnownForSomeTime)
{
    constexpr pid_t parent = 1'000'000'001, child = 1'000'000'002, // no such processes
        thread = 1'000'000'003;
    SampledTasks tasks;
    tasks.change({PerfTaskEvent::forked, child, child, parent, ""});
    tasks.change({PerfTaskEvent::forked, child, thread, parent, ""});
    tasks.change({PerfTaskEvent::execed, child, child, 0, "program"});
    tasks.set_arguments(child, "program -v");
    for (const pid_t tid : {thread, child})
        tasks.change({PerfTaskEvent::exited, child, tid, parent, ""});
    EXPECT_EQ(tasks.process_of(thread), child);
    EXPECT_EQ(tasks.name_of(child), "program");
    EXPECT_EQ(tasks.arguments_of(child), "program -v");
    for (pid_t tid = 0; tid < 1024; tid++)
        tasks.change({PerfTaskEvent::exited, parent, 1'000'001'000 + tid, parent, ""});
    EXPECT_EQ(tasks.process_of(thread), 0);
    EXPECT_EQ(tasks.process_of(child), 0);
    EXPECT_EQ(tasks.name_of(child), "");
    EXPECT_EQ(tasks.arguments_of(child), "");
}

TEST(SampledTasks, ANewProcessHasTheIdsOfItsParent)
{
    constexpr pid_t child = 1'000'000'002, orphan = 1'000'000'003; // no such processes
    SampledTasks tasks;
    tasks.change({PerfTaskEvent::forked, child, child, ::getpid(), ""});
    EXPECT_EQ(tasks.uid_of(child), ::geteuid());
    EXPECT_EQ(tasks.gid_of(child), ::getegid());
    tasks.read_ids(child); // /proc does not have them
    EXPECT_EQ(tasks.uid_of(child), ::geteuid());
    EXPECT_EQ(tasks.uid_of(orphan), static_cast<uid_t>(-1));
}

// A sample at sched_process_exec whose stack begins with these words.
PerfSample exec_sample(const std::vector<std::uint64_t>& stack)
{
    PerfSample sample;
    sample.pid = sample.tid = 1'000'000'001; // no such process
    sample.user.emplace();
    (*sample.user)[Reg::rsp] = 0x1000;
    sample.user_stack = std::as_bytes(std::span(stack));
    return sample;
}

TEST(ProgramArguments, AreReadFromTheStackOfTheProgram)
{
    // Two arguments, their addresses, and a null, which the strings follow.
    std::vector<std::uint64_t> stack{2, 0x1020, 0x1022, 0, 0};
    std::memcpy(&stack[4], "a\0b c\0", 6);
    EXPECT_EQ(arguments_on_stack(exec_sample(stack)), "a b c");
    ProgramArguments arguments;
    arguments.see(exec_sample(stack), "/bin/a");
    EXPECT_EQ(arguments.take(exec_sample(stack)), "a b c");
    EXPECT_EQ(arguments_on_stack(exec_sample({0, 0})), "");
}

TEST(ProgramArguments, AreUnknownIfTheStackIsIncomplete)
{
    std::vector<std::uint64_t> stack{2, 0x1020, 0x1022, 0, 0x6161'6161'6100'6161};
    EXPECT_EQ(arguments_on_stack(exec_sample(stack)), std::nullopt); // no second NUL
    stack[1] = 0x9000;                                               // not in the copy
    EXPECT_EQ(arguments_on_stack(exec_sample(stack)), std::nullopt);
    stack[0] = ~std::uint64_t{0};
    EXPECT_EQ(arguments_on_stack(exec_sample(stack)), std::nullopt);
    EXPECT_EQ(arguments_on_stack(exec_sample({1})), std::nullopt);
    EXPECT_EQ(arguments_on_stack(PerfSample{}), std::nullopt);
    ProgramArguments arguments;
    arguments.see(exec_sample(stack), "/bin/a");
    EXPECT_EQ(arguments.take(exec_sample(stack)), "");
}

TEST(SampledTasks, AnIdThatIsUsedAgainStaysKnown)
{
    constexpr pid_t parent = 1'000'000'001, child = 1'000'000'002; // no such processes
    SampledTasks tasks;
    tasks.change({PerfTaskEvent::exited, child, child, parent, ""});
    tasks.change({PerfTaskEvent::forked, child, child, parent, ""});
    tasks.change({PerfTaskEvent::execed, child, child, 0, "again"});
    for (pid_t tid = 0; tid < 1024; tid++)
        tasks.change({PerfTaskEvent::exited, parent, 1'000'001'000 + tid, parent, ""});
    EXPECT_EQ(tasks.process_of(child), child);
    EXPECT_EQ(tasks.name_of(child), "again");
}

TEST(SampledTasks, TheThreadsOfAllProcessesAreRead)
{
    SampledTasks tasks;
    tasks.read_all();
    EXPECT_EQ(tasks.process_of(::getpid()), ::getpid());
    EXPECT_EQ(tasks.parent_of(::getpid()), ::getppid());
}

TEST(FatalSignals, SigkillEndsAProcessOnlyIfASignalWasGenerated)
{
    FatalSignals signals;
    // Another thread has called exit_group(2).
    EXPECT_FALSE(signals.deliver(7, {SIGKILL}, false));
    EXPECT_FALSE(signals.exit(7));
    // The kernel replaces SIGTERM, and ends each thread.
    signals.generate(7, {SIGTERM, SI_USER});
    const auto cause = signals.deliver(7, {SIGKILL}, false);
    ASSERT_TRUE(cause);
    EXPECT_EQ(cause->number, SIGTERM);
    EXPECT_FALSE(signals.deliver(7, {SIGKILL}, false));
    EXPECT_TRUE(signals.exit(7));
    EXPECT_FALSE(signals.exit(7));
}

TEST(FatalSignals, HandledAndStoppingSignalsEndNoProcess)
{
    FatalSignals signals;
    signals.generate(7, {SIGTERM});
    EXPECT_EQ(signals.deliver(7, {SIGTERM}, true)->number, SIGTERM);
    EXPECT_FALSE(signals.deliver(7, {SIGKILL}, false)); // exit_group(2)
    signals.generate(7, {SIGTSTP});
    EXPECT_EQ(signals.deliver(7, {SIGTSTP}, false)->number, SIGTSTP);
    EXPECT_FALSE(signals.deliver(7, {SIGCONT}, false));
    EXPECT_FALSE(signals.exit(7));
    signals.generate(7, {SIGSEGV});
    EXPECT_EQ(signals.deliver(7, {SIGSEGV}, false)->number, SIGSEGV);
    signals.forget(7);
    EXPECT_FALSE(signals.exit(7));
}

TEST(SampledTasks, AProgramHasNoArgumentsOfThePreviousOne)
{
    constexpr pid_t parent = 1'000'000'001, child = 1'000'000'002; // no such processes
    SampledTasks tasks;
    tasks.set_arguments(parent, "sh -c true");
    tasks.change({PerfTaskEvent::forked, child, child, parent, ""});
    EXPECT_EQ(tasks.arguments_of(child), "sh -c true");
    tasks.change({PerfTaskEvent::execed, child, child, 0, "true"});
    EXPECT_EQ(tasks.arguments_of(child), "");
}

TEST(SampledTargets, ChildrenAndProgramsAreFollowedAsOptionsSay)
{
    constexpr pid_t parent = 10, child = 20, stranger = 30;
    const PerfTaskEvent fork{PerfTaskEvent::forked, child, child, parent, ""};
    const PerfTaskEvent exec{PerfTaskEvent::execed, child, child, 0, "program"};

    SampledTargets alone(false, false);
    alone.add(parent, true);
    alone.change(fork);
    EXPECT_FALSE(alone.contains(child));
    alone.change({PerfTaskEvent::execed, parent, parent, 0, "program"});
    EXPECT_TRUE(alone.contains(parent));

    SampledTargets forks(true, false);
    forks.add(parent, false);
    forks.change(fork);
    EXPECT_TRUE(forks.contains(child));
    forks.change(exec);
    EXPECT_FALSE(forks.contains(child));

    SampledTargets execs(true, true);
    execs.add(parent, true);
    execs.change(fork);
    execs.change(exec);
    EXPECT_TRUE(execs.contains(child));
    // A new process of a stranger has the id of a target that has exited.
    execs.change({PerfTaskEvent::forked, child, child, stranger, ""});
    EXPECT_FALSE(execs.contains(child));
    EXPECT_FALSE(execs.contains(stranger));
}

} // namespace

} // namespace dt
