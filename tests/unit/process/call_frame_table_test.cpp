// SPDX-License-Identifier: MIT
// Tests that a CallFrameTable gives the same rules as libdw, and that forged entries
// take little time and memory.
#include "process/call_frame_table.hpp"

#include "base/fd.hpp"
#include "process/call_frames.hpp"

#include <algorithm>
#include <ctime>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>

namespace dt::agent {
namespace {

struct Free {
    void operator()(Dwarf_Frame* frame) const { std::free(frame); }
    void operator()(Dwarf_CFI* frames) const { dwarf_cfi_end(frames); }
    void operator()(Elf* elf) const { elf_end(elf); }
};

void expect_rule(Dwarf_Frame* frame, int number, const RegisterRule& rule)
{
    Dwarf_Op own[3];
    Dwarf_Op* ops = nullptr;
    std::size_t n = 0;
    ASSERT_EQ(dwarf_frame_register(frame, number, own, &ops, &n), 0);
    if (n == 0) {
        const bool is_same =
            rule.how == RegisterRule::same || rule.how == RegisterRule::unspecified;
        EXPECT_EQ(is_same, ops == nullptr);
        return;
    }
    if (ops[0].atom != DW_OP_call_frame_cfa || ops[n - 1].atom == DW_OP_stack_value) {
        EXPECT_EQ(rule.how, RegisterRule::other);
        return;
    }
    if (rule.how == RegisterRule::offset) {
        ASSERT_LE(n, 2U);
        EXPECT_EQ(rule.offset_from_cfa,
                  n == 1 ? 0 : static_cast<std::int64_t>(ops[1].number));
    } else {
        ASSERT_EQ(rule.how, RegisterRule::expression);
        EXPECT_FALSE(rule.by.empty());
    }
}

void expect_row(Dwarf_Frame* frame, const FrameRow& row, std::uint64_t at)
{
    Dwarf_Addr begin = 0, end = 0;
    bool is_of_signal = false;
    ASSERT_EQ(dwarf_frame_info(frame, &begin, &end, &is_of_signal), dwarf_rip);
    EXPECT_EQ(row.is_of_signal, is_of_signal);
    EXPECT_LE(row.begin, at);
    EXPECT_EQ(row.end, end);
    Dwarf_Op* ops = nullptr;
    std::size_t n = 0;
    ASSERT_EQ(dwarf_frame_cfa(frame, &ops, &n), 0);
    if (row.cfa_by.empty()) {
        ASSERT_EQ(n, 1U);
        const bool has_operand = ops[0].atom == DW_OP_bregx;
        EXPECT_EQ(row.cfa_register,
                  has_operand ? ops[0].number : ops[0].atom - DW_OP_breg0);
        EXPECT_EQ(row.cfa_offset, static_cast<std::int64_t>(
                                      has_operand ? ops[0].number2 : ops[0].number));
    } else {
        EXPECT_GE(n, 1U);
    }
    expect_rule(frame, dwarf_rbp, row.rbp);
    expect_rule(frame, dwarf_rip, row.rip);
}

// Compares the table with libdw at every `stride`-th byte of the text. Returns the
// number of compared bytes that have a row.
std::size_t compare(const std::string& path, std::uint64_t stride)
{
    elf_version(EV_CURRENT);
    Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::unique_ptr<Elf, Free> elf(elf_begin(fd.get(), ELF_C_READ, nullptr));
    std::unique_ptr<Dwarf_CFI, Free> frames(dwarf_getcfi_elf(elf.get()));
    std::size_t names = 0, n_rows = 0;
    elf_getshdrstrndx(elf.get(), &names);
    std::optional<CallFrameTable> table;
    std::vector<GElf_Shdr> text;
    for (Elf_Scn* section = nullptr;
         (section = elf_nextscn(elf.get(), section)) != nullptr;) {
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        if ((header.sh_flags & SHF_EXECINSTR) != 0)
            text.push_back(header);
        if (elf_strptr(elf.get(), names, header.sh_name) !=
            std::string_view(".eh_frame"))
            continue;
        const Elf_Data* data = elf_rawdata(section, nullptr);
        table.emplace(
            FrameBytes(static_cast<const std::uint8_t*>(data->d_buf), data->d_size),
            header.sh_addr);
    }
    EXPECT_TRUE(table && frames) << path;
    for (const GElf_Shdr& header : text)
        for (std::uint64_t at = header.sh_addr;
             table && at < header.sh_addr + header.sh_size; at += stride) {
            Dwarf_Frame* found = nullptr;
            dwarf_cfi_addrframe(frames.get(), at, &found);
            std::unique_ptr<Dwarf_Frame, Free> frame(found);
            const FrameRow* row = table->row_at(at);
            EXPECT_EQ(row != nullptr, frame != nullptr)
                << path << " " << std::hex << at;
            if (row != nullptr && frame != nullptr) {
                expect_row(frame.get(), *row, at);
                n_rows++;
            }
            if (testing::Test::HasFailure()) {
                ADD_FAILURE() << path << " " << std::hex << at;
                return n_rows;
            }
        }
    return n_rows;
}

TEST(CallFrameTable, SaysOfEachAddressWhatLibdwSays)
{
    EXPECT_GT(compare(VICTIMS "/frames_no_fp", 1), 100U);
    EXPECT_GT(compare(VICTIMS "/edges", 1), 100U);
    EXPECT_GT(compare("/proc/self/exe", 13), 10'000U);
    EXPECT_GT(compare("/lib/x86_64-linux-gnu/libc.so.6", 7), 100'000U);
}

constexpr std::uint64_t text_at = 0x400000;

template <class T> std::string bytes_of(T value)
{
    return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Returns a section with one CIE, and one entry for `n_bytes` of text.
std::string section_with(const std::string& instructions, std::uint64_t n_bytes)
{
    using namespace std::string_literals;
    // Version 1, no augmentation, the factors 1 and -8, and the return address in
    // column 16. The CFA is %rsp + 8.
    const std::string common =
        bytes_of<std::uint32_t>(0) + "\1\0\1\x78\x10\x0c\7\x08\x90\1"s;
    std::string out = bytes_of(static_cast<std::uint32_t>(common.size())) + common;
    const std::string entry = bytes_of(static_cast<std::uint32_t>(out.size() + 4)) +
                              bytes_of(text_at) + bytes_of(n_bytes) + instructions;
    return out + bytes_of(static_cast<std::uint32_t>(entry.size())) + entry;
}

FrameBytes as_bytes(const std::string& text)
{
    return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(CallFrameTable, RemembersStatesToALimitedDepth)
{
    for (const std::size_t depth :
         {CallFrameTable::max_remembered, CallFrameTable::max_remembered + 1}) {
        const std::string section =
            section_with(std::string(depth, DW_CFA_remember_state), 16);
        CallFrameTable table(as_bytes(section), 0);
        EXPECT_EQ(table.row_at(text_at) != nullptr,
                  depth == CallFrameTable::max_remembered);
    }
}

// libdw would allocate a gigabyte for this entry, because it allocates space for all
// registers up to this number.
TEST(CallFrameTable, TakesNoMemoryForRegistersThatDoNotExist)
{
    // DW_CFA_undefined of register 0x7fffff0
    const std::string section = section_with("\x07\xf0\xff\xff\x3f", 16);
    CallFrameTable table(as_bytes(section), 0);
    const FrameRow* row = table.row_at(text_at);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->cfa_offset, 8);
}

TEST(CallFrameTable, AnEntryWithARowAtEachByteIsEvaluatedOnce)
{
    constexpr std::size_t n = 100'000;
    std::string instructions;
    for (std::size_t i = 0; i < n; i++)
        instructions += static_cast<char>(DW_CFA_advance_loc | 1);
    const std::string section = section_with(instructions, n);
    CallFrameTable table(as_bytes(section), 0);
    timespec used{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    const auto began = used.tv_sec;
    for (std::size_t i = 0; i < n; i++) {
        const FrameRow* row = table.row_at(text_at + i);
        ASSERT_NE(row, nullptr);
        EXPECT_EQ(row->begin, text_at + i);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    EXPECT_LT(used.tv_sec - began, 5); // 20 s if the entry were evaluated for each row
}

// Encodes a number in 10 bytes of LEB128. With this length, the signed and unsigned
// encodings are the same.
std::string leb(std::uint64_t value)
{
    std::string out;
    for (; out.size() < 9; value >>= 7)
        out += static_cast<char>(0x80 | (value & 0x7f));
    return out + static_cast<char>(value);
}

constexpr std::uint64_t largest = INT64_MAX;

// The arithmetic is modulo 2^64 (DWARF 5, 2.5.1.4). Sanitizers detect signed overflows.
TEST(CallFrameTable, NumbersOfExpressionsWrapAround)
{
    using namespace std::string_literals;
    struct Case {
        std::string expression;
        std::int32_t from_rsp;
    };
    const Case cases[] = {
        // DW_OP_breg7 n, DW_OP_plus_uconst n, DW_OP_plus_uconst 10
        {"\x77" + leb(largest) + "\x23" + leb(largest) + "\x23\x0a", 8},
        // DW_OP_breg7 8, DW_OP_breg16 n, DW_OP_lit8, DW_OP_and, DW_OP_plus
        {"\x77\x08\x80"s + leb(largest) + "\x38\x1a\x22", 16},
        // DW_OP_breg7 n, DW_OP_breg16 n - %rip, DW_OP_plus, DW_OP_plus_uconst 10
        {"\x77" + leb(largest) + "\x80" + leb(largest - text_at) + "\x22\x23\x0a", 8},
    };
    for (const Case& one : cases) {
        const auto n_bytes = static_cast<char>(one.expression.size());
        const std::string section =
            section_with(static_cast<char>(DW_CFA_def_cfa_expression) +
                             std::string(1, n_bytes) + one.expression,
                         16);
        CallFrameTable table(as_bytes(section), 0);
        const FrameRow* row = table.row_at(text_at);
        ASSERT_NE(row, nullptr);
        const auto rule = rule_of(*row, {text_at});
        ASSERT_TRUE(rule.has_value());
        EXPECT_EQ(rule->from, DT_RT_FROM_RSP);
        EXPECT_EQ(rule->cfa, one.from_rsp);
    }
}

TEST(CallFrameTable, TheSmallestNegativeOffsetWrapsAround)
{
    const std::string section = section_with(
        static_cast<char>(DW_CFA_GNU_negative_offset_extended) +
            std::string(1, static_cast<char>(dwarf_rbp)) + leb(largest + 1),
        16);
    CallFrameTable table(as_bytes(section), 0);
    const FrameRow* row = table.row_at(text_at);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->rbp.how, RegisterRule::offset);
    EXPECT_EQ(row->rbp.offset_from_cfa, 0); // 2^63 times the data factor -8
}

TEST(CallFrameTable, DamagedSectionsGiveRowsOrNone)
{
    std::string section = section_with(
        std::string(
            "\x41\x0e\x10\x86\2\x43\x0d\6\x0a\x42\x0c\7\x08\x0b\x0f\3\x77\x08\6", 19),
        64);
    for (std::size_t cut = 0; cut <= section.size(); cut++) {
        const std::string part = section.substr(0, cut);
        CallFrameTable table(as_bytes(part), 0);
        table.row_at(text_at + 20);
    }
    for (std::size_t at = 0; at < section.size(); at++)
        for (const char value : {'\0', '\1', '\x7f', '\x80', '\xff'}) {
            std::string damaged = section;
            damaged[at] = value;
            CallFrameTable table(as_bytes(damaged), 0);
            table.row_at(text_at + 20);
        }
}

} // namespace
} // namespace dt::agent
