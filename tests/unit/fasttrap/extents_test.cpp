// SPDX-License-Identifier: MIT
// Tests the extents of assembly functions (extents_x86_64.S) in this process's memory.
// Also compares glance() with decode().
#include "corpus.hpp"
#include "fasttrap/arch/x86_64/layout.hpp"
#include "fasttrap/extents.hpp"
#include "tests/unit/n_cases.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

// clang-format off
#define FUNCTIONS(X)                                                                   \
    X(loop) X(jumps_next_door) X(neighbour) X(label_inside) X(hot) X(hot_cold)         \
    X(switch) X(differences) X(goto) X(anywhere) X(call_through_memory)                \
    X(short_padded) X(short_int3) X(short_bare) X(after_short_bare) X(ret_at_target)   \
    X(ret_behind_a_line) X(lock) X(constants) X(landing) X(unreached) X(transaction)   \
    X(restartable) X(table_in_text) X(biased_table) X(padding_table) X(halts)        \
    X(loads_its_text) X(before_loaded)                                                 \
    X(hidden) X(named_by_chance) X(falls_into_jump) X(reads_a_named_place) \
    X(jumps_by_the_stack)
#define PLACES(X)                                                                      \
    X(begin) X(end) X(label) X(hot_return_point) X(hot_ret) X(case_0) X(case_1)        \
    X(switch_ret) X(difference_base) X(difference_1) X(goto_0) X(goto_1)               \
    X(anywhere_inside) X(tail_jump) X(bare_ret) X(target_ret) X(line_ret)              \
    X(lock_prefix) X(behind_lock) X(constants_ret) X(endbr) X(unreached_code)          \
    X(transaction_abort) X(sequence) X(sequence_end) X(words)  \
    X(table) X(tables_end) X(table_ret) X(text_table_ret) X(biased_ret)                \
    X(padding_ret) X(padding_data) X(halts_ret)                                        \
    X(loaded_place) X(hidden_code) X(hidden_ret) X(arm_place) X(arm_ret)              \
    X(named_data_place) X(stack_arm_place)
// clang-format on
#define X(name) extern "C" const char ex_##name[];
FUNCTIONS(X)
PLACES(X)
#undef X

using namespace dt;
using namespace dt::test;

namespace {

TargetAddr addr(const char* place)
{
    return {reinterpret_cast<std::uint64_t>(place)};
}

// Reads the corpus and its tables, and no other memory.
bool read_corpus(TargetAddr from, std::span<std::byte> into)
{
    bool text = from >= addr(ex_begin) && from + into.size() <= addr(ex_end);
    bool table = from >= addr(ex_table) && from + into.size() <= addr(ex_tables_end);
    if (!text && !table)
        return false;
    std::memcpy(into.data(), reinterpret_cast<const void*>(from.value), into.size());
    return true;
}

class ExtentsTest : public testing::Test {
protected:
    static KnownCode known()
    {
        KnownCode known;
#define X(name) known.starts.push_back({addr(ex_##name), true});
        FUNCTIONS(X)
#undef X
        known.functions.push_back({addr(ex_anywhere), addr(ex_call_through_memory)});
        known.functions.push_back(
            {addr(ex_falls_into_jump), addr(ex_reads_a_named_place)});
        known.functions.push_back(
            {addr(ex_reads_a_named_place), addr(ex_jumps_by_the_stack)});
        known.functions.push_back({addr(ex_jumps_by_the_stack), addr(ex_hidden)});
        std::sort(known.starts.begin(), known.starts.end(),
                  [](const CodeStart& a, const CodeStart& b) { return a.at < b.at; });
        return known;
    }

    static ExtentMap map(const KnownCode& known)
    {
        std::uint64_t n = addr(ex_end) - addr(ex_begin);
        Sweep swept(addr(ex_begin), n);
        sweep(x86_64, std::as_bytes(std::span(ex_begin, n)), addr(ex_begin),
              known.starts, swept);
        return {std::move(swept), known, read_corpus};
    }

    static std::pair<std::int64_t, std::int64_t>
    extent(const ExtentMap& map, const char* at, const char* from)
    {
        Extent found = map.extent(addr(at));
        return {static_cast<std::int64_t>(found.first - addr(from)),
                static_cast<std::int64_t>(found.end - addr(from))};
    }
    static std::pair<std::int64_t, std::int64_t> extent(const char* at,
                                                        const char* from)
    {
        static const ExtentMap plain = map(known());
        return extent(plain, at, from);
    }
};

using Range = std::pair<std::int64_t, std::int64_t>;

TEST_F(ExtentsTest, ALoopBackToTheSecondInstructionLeavesOnlyTheFirst)
{
    EXPECT_EQ(extent(ex_loop, ex_loop), (Range{0, 2}));
}

TEST(Extents, KnowTheBranchesBackToAFunctionsFirstInstruction)
{
    // loop: subl $1,(%rdi); jne loop; ret. calls: call calls; ret.
    const unsigned char text[] = {0x83, 0x2f, 0x01, 0x75, 0xfb, 0xc3,
                                  0xe8, 0xfb, 0xff, 0xff, 0xff, 0xc3};
    const TargetAddr loop{0x401000}, calls{0x401006};
    KnownCode known;
    known.starts = {{loop, true}, {calls, true}};
    Sweep swept(loop, sizeof text);
    sweep(x86_64, std::as_bytes(std::span(text)), loop, known.starts, swept);
    const ExtentMap map(std::move(swept), known, {});
    EXPECT_EQ(map.loop_end(loop), loop + 5);
    EXPECT_EQ(map.loop_end(calls), TargetAddr{});
}

TEST_F(ExtentsTest, AJumpOutOfAnotherFunctionEndsTheWindow)
{
    EXPECT_EQ(extent(ex_neighbour, ex_neighbour), (Range{0, 3}));
}

TEST_F(ExtentsTest, ALabelThatASymbolNamesIsATarget)
{
    EXPECT_EQ(extent(ex_label_inside, ex_label_inside), (Range{0, 16}));
    KnownCode more = known();
    auto behind = std::find_if(more.starts.begin(), more.starts.end(),
                               [](const auto& s) { return s.at > addr(ex_label); });
    more.starts.insert(behind, {addr(ex_label), false});
    ExtentMap labelled = map(more);
    EXPECT_EQ(extent(labelled, ex_label_inside, ex_label_inside), (Range{0, 3}));
    EXPECT_EQ(extent(labelled, ex_label, ex_label), (Range{0, 13}));
}

TEST_F(ExtentsTest, AColdPartThatJumpsBackIsSeen)
{
    EXPECT_EQ(extent(ex_hot_return_point, ex_hot_return_point), (Range{0, 9}));
    EXPECT_EQ(extent(ex_hot_ret, ex_hot_return_point), (Range{0, 9}));
    EXPECT_EQ(extent(ex_hot, ex_hot), (Range{0, ex_hot_return_point - ex_hot}));
}

TEST_F(ExtentsTest, EntriesOfASwitchTableAreTargets)
{
    EXPECT_EQ(extent(ex_case_0, ex_case_0), (Range{0, 2}));
    EXPECT_EQ(extent(ex_switch_ret, ex_case_1), (Range{0, 3}));
}

TEST_F(ExtentsTest, OffsetsFromALabelAreTargets)
{
    EXPECT_EQ(extent(ex_difference_base, ex_difference_base), (Range{0, 2}));
    EXPECT_EQ(extent(ex_difference_1, ex_difference_1).first, 0);
}

TEST_F(ExtentsTest, AddressesOfTextInDataAreTargets)
{
    KnownCode with_words = known();
    std::array<std::uint64_t, 2> words{};
    std::memcpy(words.data(), ex_words, sizeof words);
    for (std::uint64_t word : words)
        with_words.words.push_back({word});
    ExtentMap mapped = map(with_words);
    EXPECT_EQ(extent(mapped, ex_goto_0, ex_goto_0), (Range{0, 2}));
    EXPECT_EQ(extent(mapped, ex_goto_1, ex_goto_1).first, 0);
    // A word that does not point to the start of an instruction is treated as a number.
    with_words.words.push_back({addr(ex_goto_0).value + 1});
    mapped = map(with_words);
    EXPECT_EQ(extent(mapped, ex_goto_0, ex_goto_0), (Range{0, 2}));
}

TEST_F(ExtentsTest, AJumpThroughAnUnknownTableLeavesOneInstructionAndTheEntry)
{
    EXPECT_EQ(extent(ex_anywhere, ex_anywhere), (Range{0, 16}));
    EXPECT_EQ(extent(ex_anywhere_inside, ex_anywhere_inside), (Range{0, 3}));
}

TEST_F(ExtentsTest, ATailCallThroughMemoryIsNoTable)
{
    Range found = extent(ex_tail_jump, ex_call_through_memory);
    EXPECT_EQ(found, (Range{0, 16}));
}

TEST_F(ExtentsTest, PaddingBehindARetBelongsToIt)
{
    EXPECT_EQ(extent(ex_short_padded, ex_short_padded), (Range{0, 16}));
    EXPECT_EQ(extent(ex_short_int3, ex_short_int3), (Range{0, 16}));
    EXPECT_EQ(extent(ex_short_bare, ex_short_bare), (Range{0, 1}));
}

TEST_F(ExtentsTest, ARetReachesBackToTheLastTarget)
{
    EXPECT_EQ(extent(ex_bare_ret, ex_after_short_bare), (Range{0, 3}));
    EXPECT_EQ(extent(ex_target_ret, ex_target_ret), (Range{0, 1}));
    EXPECT_EQ(extent(ex_line_ret, ex_ret_behind_a_line), (Range{0, 7}));
}

TEST_F(ExtentsTest, AnInstructionThatIsJumpedIntoIsNotMoved)
{
    EXPECT_EQ(extent(ex_lock_prefix, ex_lock_prefix).second, 1);
    EXPECT_EQ(extent(ex_behind_lock, ex_behind_lock).first, 0);
}

TEST_F(ExtentsTest, DataBehindARetIsNotPadding)
{
    EXPECT_EQ(extent(ex_constants_ret, ex_constants_ret), (Range{-7, 1}));
}

TEST_F(ExtentsTest, AnEndbrInTheMiddleIsATarget)
{
    EXPECT_EQ(extent(ex_landing, ex_landing), (Range{0, 7}));
    EXPECT_EQ(extent(ex_endbr, ex_endbr).first, 0);
}

TEST_F(ExtentsTest, WhatFollowsAJumpIsALineOfItsOwn)
{
    EXPECT_EQ(extent(ex_unreached, ex_unreached).second,
              ex_unreached_code - ex_unreached);
    EXPECT_EQ(extent(ex_unreached_code, ex_unreached_code).first, 0);
}

TEST_F(ExtentsTest, CodeThatNothingLeadsToMayBeData)
{
    ExtentMap mapped = map(known());
    EXPECT_TRUE(mapped.is_code(addr(ex_unreached)));
    EXPECT_FALSE(mapped.is_code(addr(ex_unreached_code)));
}

TEST_F(ExtentsTest, WhatFollowsAHltInAFunctionIsCode)
{
    EXPECT_FALSE(map(known()).is_code(addr(ex_halts_ret)));
    KnownCode with_size = known();
    with_size.functions.push_back({addr(ex_halts), addr(ex_halts_ret) + 1});
    const ExtentMap mapped = map(with_size);
    EXPECT_TRUE(mapped.is_code(addr(ex_halts_ret)));
    EXPECT_EQ(extent(mapped, ex_halts_ret, ex_halts_ret), (Range{0, 15}));
}

TEST_F(ExtentsTest, ATableAfterARetIsNeitherMovedNorTakenForPadding)
{
    EXPECT_EQ(extent(ex_table_ret, ex_table_ret), (Range{0, 1}));
    EXPECT_EQ(extent(ex_text_table_ret, ex_text_table_ret), (Range{0, 0}));
    ExtentMap mapped = map(known());
    EXPECT_TRUE(mapped.is_code(addr(ex_table_ret)));
    EXPECT_FALSE(mapped.is_code(addr(ex_text_table_ret)));
}

TEST_F(ExtentsTest, ATableThatNothingNamesByItsStartIsNotPaddingEither)
{
    EXPECT_EQ(extent(ex_biased_ret, ex_biased_ret).second, 1);
}

TEST_F(ExtentsTest, ATableThatLooksLikePaddingIsDataIfCodeNamesIt)
{
    EXPECT_EQ(extent(ex_padding_ret, ex_padding_ret).second, 1);
    ExtentMap mapped = map(known());
    EXPECT_TRUE(mapped.is_code(addr(ex_padding_ret)));
    for (std::uint64_t offset : {0, 2, 3, 5, 7})
        EXPECT_FALSE(mapped.is_code(addr(ex_padding_data) + offset)) << offset;
}

TEST_F(ExtentsTest, BytesThatCodeLoadsAreNotCode)
{
    ExtentMap mapped = map(known());
    EXPECT_TRUE(mapped.is_code(addr(ex_before_loaded)));
    EXPECT_FALSE(mapped.is_code(addr(ex_loaded_place)));
    EXPECT_FALSE(mapped.is_code(addr(ex_loaded_place) + 1));
}

// The first function is nop; movabs $constant, %rax; ret. The second function begins
// with `load`, which refers to the byte at `offset` in the first function. `word` is a
// word in the data, or 0.
ExtentMap map_loaded_constant(const std::vector<unsigned char>& load,
                              std::int32_t offset, TargetAddr word = {})
{
    std::vector<unsigned char> text{0x90, 0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8, 0xc3};
    const TargetAddr first{0x401000}, second{first + text.size()};
    for (unsigned char byte : load)
        text.push_back(byte);
    std::int32_t displacement = offset - static_cast<std::int32_t>(text.size()) - 4;
    for (int i = 0; i < 4; ++i)
        text.push_back(static_cast<unsigned char>(displacement >> 8 * i));
    text.push_back(0xc3); // ret
    KnownCode known;
    known.starts = {{first, true}, {second, true}};
    if (word.value != 0)
        known.words = {word};
    Sweep swept(first, text.size());
    sweep(x86_64, std::as_bytes(std::span(text)), first, known.starts, swept);
    auto read = [&](TargetAddr from, std::span<std::byte> into) {
        if (from - first + into.size() > text.size())
            return false;
        std::memcpy(into.data(), text.data() + (from - first), into.size());
        return true;
    };
    return {std::move(swept), known, read};
}

TEST(Extents, KeepTheCodeAfterAConstantThatAnotherInstructionLoads)
{
    const TargetAddr first{0x401000};
    // The instruction is mov first+3, %rcx.
    const ExtentMap map = map_loaded_constant({0x48, 0x8b, 0x0d}, 3);
    EXPECT_TRUE(map.is_code(first + 1));
    EXPECT_TRUE(map.is_code(first + 11));
    EXPECT_EQ(map.extent(first + 11), (Extent{first + 11, first + 12}));
    // The constant must not be moved or overwritten.
    EXPECT_EQ(map.extent(first), (Extent{first, first + 1}));
    EXPECT_LE(map.extent(first + 1).end, first + 3);
}

TEST(Extents, KeepTheCodeAroundAConstantToWhichAWordOfDataPoints)
{
    const TargetAddr first{0x401000};
    // A lea that loads a distant address into %rcx does not affect the first function.
    const std::vector<unsigned char> lea{0x48, 0x8d, 0x0d};
    const ExtentMap plain = map_loaded_constant(lea, 0x10000);
    EXPECT_EQ(plain.extent(first), (Extent{first, first + 12}));
    // The word points to the constant of the movabs, which begins at first + 3.
    const ExtentMap map = map_loaded_constant(lea, 0x10000, first + 3);
    EXPECT_TRUE(map.is_code(first + 1));
    EXPECT_EQ(map.extent(first), (Extent{first, first + 1}));
    EXPECT_LE(map.extent(first + 1).end, first + 3);
    EXPECT_EQ(map.extent(first + 11), (Extent{first + 11, first + 12}));
    // A pointer into the middle of the constant is treated as a number.
    EXPECT_EQ(map_loaded_constant(lea, 0x10000, first + 5).extent(first),
              plain.extent(first));
}

TEST(Extents, TakeBytesForDataThatAreLoadedButNotExactlyAConstant)
{
    const TargetAddr first{0x401000};
    // movdqu first+3, %xmm1; mov first+3, %ecx; mov first+4, %rcx; mov %rcx, first+3
    EXPECT_FALSE(map_loaded_constant({0xf3, 0x0f, 0x6f, 0x0d}, 3).is_code(first + 11));
    EXPECT_FALSE(map_loaded_constant({0x8b, 0x0d}, 3).is_code(first + 11));
    EXPECT_FALSE(map_loaded_constant({0x48, 0x8b, 0x0d}, 4).is_code(first + 11));
    EXPECT_FALSE(map_loaded_constant({0x48, 0x89, 0x0d}, 3).is_code(first + 11));
}

TEST_F(ExtentsTest, DataThatLooksLikeABranchLeadsIntoNoInstruction)
{
    EXPECT_EQ(extent(ex_named_by_chance, ex_named_by_chance), (Range{0, 11}));
}

TEST_F(ExtentsTest, DataBeforeABranchTargetDoesNotHideIt)
{
    EXPECT_EQ(extent(ex_hidden_ret, ex_hidden_code), (Range{0, 8}));
}

TEST_F(ExtentsTest, AFunctionWithUnknownTablesIsKnownAsFarAsItsSizeTells)
{
    ExtentMap mapped = map(known());
    EXPECT_TRUE(mapped.is_code(addr(ex_anywhere_inside) + 5)); // after the jump
    KnownCode without_size = known();
    without_size.functions.clear();
    EXPECT_FALSE(map(without_size).is_code(addr(ex_anywhere_inside) + 5));
}

TEST_F(ExtentsTest, AnArmThatAJumpThroughARegisterLeadsToMayGoOnToKnownCode)
{
    ExtentMap mapped = map(known());
    EXPECT_TRUE(mapped.is_code(addr(ex_arm_place)));
    EXPECT_TRUE(mapped.is_code(addr(ex_arm_ret)));
}

TEST_F(ExtentsTest, AnArmThatAJumpThroughTheStackLeadsToMayGoOnToKnownCode)
{
    EXPECT_TRUE(map(known()).is_code(addr(ex_stack_arm_place)));
}

TEST_F(ExtentsTest, ANamedPlaceThatAnInstructionReadsIsNoArm)
{
    EXPECT_FALSE(map(known()).is_code(addr(ex_named_data_place)));
}

TEST_F(ExtentsTest, ATransactionThatAbortsGoesSomewhere)
{
    EXPECT_EQ(extent(ex_transaction_abort, ex_transaction_abort).first, 0);
    EXPECT_EQ(extent(ex_transaction, ex_transaction).second,
              ex_transaction_abort - ex_transaction);
}

TEST_F(ExtentsTest, ARestartableSequenceIsNotTouched)
{
    KnownCode with_sequence = known();
    with_sequence.sections = {{addr(ex_sequence), addr(ex_sequence_end)}};
    ExtentMap mapped = map(with_sequence);
    EXPECT_EQ(extent(mapped, ex_sequence, ex_sequence), (Range{0, 0}));
    EXPECT_EQ(extent(mapped, ex_restartable, ex_restartable).second,
              ex_sequence - ex_restartable);
    EXPECT_EQ(extent(mapped, ex_sequence_end, ex_sequence_end).first, 0);
    EXPECT_TRUE(mapped.is_restartable(addr(ex_sequence)));
    // A thread that steps over the instruction at ex_restartable would stop inside the
    // sequence.
    EXPECT_TRUE(mapped.is_restartable(addr(ex_restartable)));
    EXPECT_FALSE(mapped.is_restartable(addr(ex_sequence_end)));
}

TEST_F(ExtentsTest, WhatIsNoInstructionIsNotMoved)
{
    EXPECT_EQ(extent(ex_loop + 1, ex_loop), (Range{1, 1}));
    TargetAddr before = addr(ex_begin) - 1;
    EXPECT_EQ(map(known()).extent(before), (Extent{before, before}));
}

TEST(AddressSet, AddsAndRemovesRanges)
{
    AddressSet set({1000}, 500);
    set.add_all(CodeRange{{900}, {1130}});
    EXPECT_EQ(set.next_missing({1000}, {1500}).value, 1130U);
    EXPECT_EQ(set.next_missing({1000}, {1100}).value, 1100U);
    set.remove_all({{1063}, {1065}});
    EXPECT_EQ(set.next_missing({1000}, {1500}).value, 1063U);
    EXPECT_EQ(set.next({1063}).value, 1065U);
    AddressSet other({1000}, 500);
    other.add_all(CodeRange{{1000}, {1066}});
    EXPECT_EQ(set.next_without({1000}, {1500}, other).value, 1066U);
    EXPECT_EQ(other.next_without({1000}, {1500}, set).value, 1063U);
    set.add_all(CodeRange{{1400}, {1600}});
    EXPECT_EQ(set.next_missing({1400}, {9000}).value, 1500U);
    set.intersect(other);
    EXPECT_EQ(set.next({1065}).value, 1065U);
    EXPECT_EQ(set.next({1066}).value, 1500U);
}

TEST(AddressSet, FindsItsNeighboursAcrossWords)
{
    AddressSet set({1000}, 500);
    for (std::uint64_t at : {1000, 1063, 1064, 1300, 1499})
        set.add({at});
    set.add({999});
    set.add({1500});
    EXPECT_EQ(set.next({1001}).value, 1063U);
    EXPECT_EQ(set.next({1065}).value, 1300U);
    EXPECT_EQ(set.next({1301}).value, 1499U);
    EXPECT_EQ(set.next({1500}).value, 1500U);
    EXPECT_EQ(set.next({5}).value, 1000U);
    EXPECT_EQ(set.last({1299}).value, 1064U);
    EXPECT_EQ(set.last({1063}).value, 1063U);
    EXPECT_EQ(set.last({1062}).value, 1000U);
    EXPECT_EQ(set.last({9000}).value, 1499U);
    EXPECT_FALSE(set.has({999}));
    EXPECT_FALSE(set.has({1500}));
}

// glance() and decode() share only the table for the bytes that follow an opcode.
TEST(Glance, HasTheLengthsAndTheFlowOfTheThoroughDecoder)
{
    std::mt19937_64 random(1);
    std::vector<Bytes> all =
        harvest("/usr/lib/x86_64-linux-gnu/libcrypto.so.3", test::n_cases(1 << 20));
    for (std::uint64_t i = test::n_cases(300'000); i > 0; --i)
        all.push_back(random_instruction(random));
    std::size_t n_decoded = 0;
    for (const Bytes& bytes : all) {
        Glance seen = x86_64.glance(bytes);
        x86::Layout layout = x86::lay_out(bytes);
        ASSERT_EQ(seen.length, layout.problem == x86::Layout::fine ? layout.length : 0)
            << testing::PrintToString(bytes);
        Result<Instruction> insn = x86_64.decode(bytes, TargetAddr{0x1000});
        if (!insn)
            continue;
        ++n_decoded;
        TargetAddr there =
            insn->next() + static_cast<std::uint64_t>(std::int64_t{seen.displacement});
        if (insn->target != TargetAddr{}) {
            ASSERT_TRUE(seen.is(Glance::branch)) << testing::PrintToString(bytes);
            ASSERT_EQ(there, insn->target) << testing::PrintToString(bytes);
        }
        ASSERT_EQ(seen.is(Glance::address), insn->rip_relative)
            << testing::PrintToString(bytes);
        bool ends = insn->flow == ControlFlow::jump || insn->flow == ControlFlow::ret ||
                    insn->flow == ControlFlow::jump_indirect;
        if (ends || insn->flow == ControlFlow::next) {
            ASSERT_EQ(seen.is(Glance::ends), ends) << testing::PrintToString(bytes);
        }
    }
    EXPECT_GT(n_decoded, test::n_cases(100'000));
}

} // namespace
