// SPDX-License-Identifier: MIT
// Tests arguments of static probes in compiled clauses: all forms of operands, and
// memory that is not mapped.
#include "tests/unit/runtime/native_support.hpp"

#include <bit>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace runtime_test;

namespace {

constexpr dt_u8 rax = 0, rbx = 3, rsp = 4, rbp = 5, rdi = 7, none = DT_OPERAND_NO_REG;

dt_operand general(dt_u8 reg, dt_u8 bytes, dt_u8 flags = 0)
{
    return {0, DT_OPERAND_GENERAL, bytes, flags, reg, none, 0, 0, 0};
}

dt_operand vector(dt_u8 reg, dt_u8 bytes, dt_u8 flags = 0)
{
    return {0, DT_OPERAND_VECTOR, bytes, flags, reg, none, 0, 0, 0};
}

dt_operand memory(dt_u8 base, dt_s64 displacement, dt_u8 bytes, dt_u8 flags = 0)
{
    return {displacement, DT_OPERAND_MEMORY, bytes, flags, base, none, 0, 0, 0};
}

// Compiles a clause for a static probe with this operand. fire() returns the recorded
// value, or ~0 after a fault. `why` is the reason if the clause is not compiled.
class Traced {
public:
    explicit Traced(const dt_operand& operand, const char* text = "{ trace(arg0); }")
        : runtime("pid1:a.out:work:entry " + std::string(text), 1)
    {
        runtime.set_clock();
        InProcess::Probe probe{"pid1:a.out:work:entry", DT_RT_STATIC,
                               runtime.add_operands({operand})};
        work = runtime.probed({probe}, address(probed_work));
        why = runtime.compile(work);
    }
    std::uint64_t fire(Registers registers)
    {
        registers.rflags = 0x202;
        with_registers(&registers, work);
        auto records = runtime.session.records();
        bool is_value = !records.empty() && (records.back().flags & DT_REC_ERROR) == 0;
        return is_value ? records.back().u64() : ~0ull;
    }
    InProcess runtime;
    Function work;
    std::string why;
};

TEST(NativeOperands, AreReadFromWhereverTheCompilerLeftThem)
{
    static std::int32_t words[4] = {-5, 6, 7, 8};
    const auto at = reinterpret_cast<std::uint64_t>(words);
    Registers registers{};
    registers.rax = 0x1234567890abcdef;
    registers.rbx = at + 4;
    registers.rcx = 2;
    registers.rdi = ~0ull;
    std::memset(vectors_before, 0, sizeof vectors_before);
    vectors_before[2] = std::bit_cast<std::uint32_t>(-1.5f);
    vectors_before[4] = std::bit_cast<std::uint64_t>(2.5);
    const struct {
        dt_operand operand;
        std::uint64_t value;
    } cases[] = {
        {{-7, DT_OPERAND_CONST, 4, DT_OPERAND_SIGNED, none, none, 0, 0, 0}, 0ull - 7},
        {{-7, DT_OPERAND_CONST, 1, 0, none, none, 0, 0, 0}, 0xf9},
        {general(rax, 8), registers.rax},
        {general(rax, 4), 0x90abcdef},
        {general(rax, 4, DT_OPERAND_SIGNED), 0xffffffff90abcdef},
        {general(rax, 2), 0xcdef},
        {general(rax, 1, DT_OPERAND_HIGH_BYTE), 0xcd},
        {general(rax, 1, DT_OPERAND_HIGH_BYTE | DT_OPERAND_SIGNED), 0xffffffffffffffcd},
        {general(rdi, 2, DT_OPERAND_SIGNED), ~0ull},
        {vector(1, 4, DT_OPERAND_FLOAT), std::bit_cast<std::uint64_t>(-1.5)},
        {vector(2, 8, DT_OPERAND_FLOAT), std::bit_cast<std::uint64_t>(2.5)},
        {vector(0, 4, DT_OPERAND_FLOAT), 0},
        {memory(none, static_cast<dt_s64>(at), 4, DT_OPERAND_SIGNED), 0ull - 5},
        {memory(none, static_cast<dt_s64>(at), 4), 0xfffffffb},
        {memory(rbx, 0, 4), 6},
        {{-4, DT_OPERAND_MEMORY, 4, 0, rbx, 1, 2, 0, 0}, 7}, // -4(%rbx,%rcx,4)
    };
    for (const auto& c : cases) {
        Traced traced(c.operand);
        traced.runtime.add_range(words, 4096); // no range is smaller than a page
        ASSERT_EQ(traced.why, "");
        EXPECT_EQ(traced.fire(registers), c.value) << &c - cases;
        EXPECT_EQ(fired_by_engine(traced.runtime), 0u) << &c - cases;
    }
}

// Words near the stack pointer need no entry in the table of ranges.
TEST(NativeOperands, OfTheFrameNeedNoRange)
{
    Registers registers{};
    registers.r8 = 77;
    registers.rbp = reinterpret_cast<std::uint64_t>(&registers.r9);
    Traced traced(memory(rbp, -8, 8));
    static_assert(offsetof(Registers, r9) == offsetof(Registers, r8) + 8);
    ASSERT_EQ(traced.why, "");
    Registers frame = registers;
    frame.rflags = 0x202;
    frame.rbp = reinterpret_cast<std::uint64_t>(&frame.r9);
    with_registers(&frame, traced.work);
    EXPECT_EQ(traced.runtime.session.records().back().u64(), 77u);
    EXPECT_EQ(fired_by_engine(traced.runtime), 0u);
    Traced of_rsp(general(rsp, 8));
    EXPECT_NE(of_rsp.fire(registers), 0u);
    EXPECT_EQ(fired_by_engine(of_rsp.runtime), 0u);
}

// The engine reads unknown addresses with a system call. An invalid address causes a D
// fault, but no signal.
TEST(NativeOperands, OfAnAddressThatNobodyKnowsAreTheEngines)
{
    Registers registers{};
    for (std::uint64_t base :
         {std::uint64_t{0}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
        registers.rbx = base;
        Traced traced(memory(rbx, 0, 8));
        ASSERT_EQ(traced.why, "");
        EXPECT_EQ(traced.fire(registers), ~0ull);
        EXPECT_EQ(fired_by_engine(traced.runtime), 1u);
        EXPECT_EQ(traced.runtime.n_faults, 0u);
    }
}

TEST(NativeOperands, OfMemoryThatHasGoneFaultOnceHereAndOnceInTheEngine)
{
    void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    Registers registers{};
    registers.rbx = reinterpret_cast<std::uint64_t>(page);
    Traced traced(memory(rbx, 0, 8), "/arg0 != 3/ { @ = count(); trace(arg0); }");
    traced.runtime.add_range(page, 4096);
    ASSERT_EQ(traced.why, "");
    EXPECT_EQ(traced.fire(registers), ~0ull);
    EXPECT_EQ(traced.runtime.n_faults, 2u);
    EXPECT_EQ(counted(traced.runtime).all(), 0u);
    mprotect(page, 4096, PROT_READ);
    EXPECT_EQ(traced.fire(registers), 0u);
    EXPECT_EQ(counted(traced.runtime).all(), 1u);
    munmap(page, 4096);
}

// If the predicate is false, the arguments of the actions are not read.
TEST(NativeOperands, OfActionsAreReadBehindThePredicate)
{
    InProcess runtime("pid1:a.out:work:entry /arg0 != 0/ { trace(arg1); }", 1);
    runtime.set_clock();
    InProcess::Probe probe{
        "pid1:a.out:work:entry", DT_RT_STATIC,
        runtime.add_operands({general(rax, 8), memory(none, 16, 8)})};
    Function work = runtime.probed({probe}, address(probed_work));
    ASSERT_EQ(runtime.compile(work), "");
    Registers registers{};
    registers.rflags = 0x202;
    with_registers(&registers, work);
    EXPECT_EQ(runtime.n_faults, 0u);
    EXPECT_EQ(fired_by_engine(runtime), 0u);
}

TEST(NativeOperands, ThatCannotBeReadAreTheEngines)
{
    dt_operand unknown{};
    unknown.bytes = 8;
    EXPECT_NE(Traced(unknown).why, "");
    EXPECT_NE(Traced(vector(17, 8)).why, "");
    EXPECT_NE(Traced(general(none, 8)).why, "");
    EXPECT_NE(Traced(general(rax, 3)).why, "");
    EXPECT_EQ(Traced(unknown, "{ trace(arg1); }").why, ""); // the probe has no arg1
    EXPECT_EQ(Traced(unknown, "{ @ = count(); }").why, "");
}

} // namespace
