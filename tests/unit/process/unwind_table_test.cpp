// SPDX-License-Identifier: MIT
// Tests that a file's unwind table has the same rules as its call frame information.
#include "process/unwind_table.hpp"

#include "base/clock_ns.hpp"
#include "base/message.hpp"
#include "process/call_frames.hpp"
#include "process/jail/channel.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace dt::agent {

static Fd opened(const std::string& path)
{
    return Fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

static const UnwindRow& row_at(const std::vector<UnwindRow>& rows, std::uint64_t offset)
{
    auto after = std::upper_bound(
        rows.begin(), rows.end(), offset,
        [](std::uint64_t at, const UnwindRow& row) { return at < row.offset; });
    return *std::prev(after);
}

static void expect_agreement(const std::string& path, std::uint64_t stride,
                             std::size_t at_least)
{
    auto rows = unwind_rows(opened(path));
    ASSERT_GE(rows.size(), at_least) << path;
    EXPECT_TRUE(
        std::is_sorted(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
            return a.offset < b.offset;
        }));
    CallFrames frames(opened(path));
    for (const CallFrames::Part& part : frames.text())
        for (std::uint64_t at = part.begin; at < part.end; at += stride) {
            const UnwindRow& row = row_at(rows, part.offset + (at - part.begin));
            const FrameRow* frame = frames.frame_at(at);
            auto rule = frame == nullptr || frame->is_of_signal
                            ? std::nullopt
                            : rule_of(*frame, TargetAddr{0} + at);
            ASSERT_EQ(row.kind == UnwindRow::rule, rule.has_value())
                << path << " " << std::hex << at;
            if (!rule)
                continue;
            rule->at = 0;
            ASSERT_EQ(std::memcmp(&row.how, &*rule, sizeof *rule), 0)
                << path << " " << std::hex << at;
        }
}

TEST(UnwindTable, SaysOfEachByteOfAProgramWhatItsFileSays)
{
    expect_agreement(VICTIMS "/frames_no_fp", 1, 40);
    expect_agreement(VICTIMS "/edges", 1, 40); // has a PLT that is bound lazily
}

TEST(UnwindTable, SaysOfALibraryWhatItsFileSays)
{
    expect_agreement("/lib/x86_64-linux-gnu/libc.so.6", 7, 10'000);
}

TEST(UnwindTable, KnowsTheFrameThatASignalHandlerReturnsTo)
{
    auto rows = unwind_rows(opened("/lib/x86_64-linux-gnu/libc.so.6"));
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const auto& row) {
        return row.kind == UnwindRow::signal;
    }));
}

TEST(UnwindTable, SaysTheSameOfAFileWithoutSectionHeaders)
{
    for (const std::string path :
         {VICTIMS "/edges", "/lib/x86_64-linux-gnu/libc.so.6"}) {
        std::ifstream file(path, std::ios::binary);
        std::string bytes((std::istreambuf_iterator<char>(file)), {});
        Elf64_Ehdr elf;
        std::memcpy(&elf, bytes.data(), sizeof elf);
        elf.e_shoff = 0;
        elf.e_shnum = elf.e_shstrndx = 0;
        std::memcpy(bytes.data(), &elf, sizeof elf);
        Fd stripped(memfd_create("stripped", MFD_CLOEXEC));
        ASSERT_EQ(write(stripped.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
        auto rows = unwind_rows(opened(path)), same = unwind_rows(std::move(stripped));
        ASSERT_EQ(rows.size(), same.size());
        for (std::size_t i = 0; i < rows.size(); i++) {
            ASSERT_EQ(rows[i].offset, same[i].offset);
            ASSERT_EQ(rows[i].kind, same[i].kind);
            ASSERT_EQ(std::memcmp(&rows[i].how, &same[i].how, sizeof rows[i].how), 0);
        }
    }
}

TEST(UnwindTable, IsEmptyForAFileThatIsNoProgram)
{
    EXPECT_TRUE(unwind_rows(opened("/etc/passwd")).empty());
    EXPECT_TRUE(unwind_rows(opened("/")).empty());
    EXPECT_TRUE(unwind_rows(Fd()).empty());
}

// The program headers of a copied file claim 2^46 bytes of text. Rows must not extend
// past the end of the file. A sparse file of one terabyte must have no rows.
TEST(UnwindTable, EndsWhereTheFileDoes)
{
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    Elf64_Ehdr elf;
    std::memcpy(&elf, bytes.data(), sizeof elf);
    for (std::size_t i = 0; i < elf.e_phnum; ++i) {
        Elf64_Phdr part;
        char* at = bytes.data() + elf.e_phoff + i * sizeof part;
        std::memcpy(&part, at, sizeof part);
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0)
            continue;
        part.p_filesz = part.p_memsz = std::uint64_t{1} << 46;
        std::memcpy(at, &part, sizeof part);
    }
    auto crafted = [&] {
        Fd fd(memfd_create("crafted", MFD_CLOEXEC));
        EXPECT_EQ(write(fd.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
        return fd;
    };
    auto rows = unwind_rows(crafted());
    ASSERT_FALSE(rows.empty());
    EXPECT_LE(rows.back().offset, bytes.size());
    CallFrames frames(crafted());
    ASSERT_TRUE(frames.are_there());
    for (const CallFrames::Part& part : frames.text())
        EXPECT_LE(part.offset + (part.end - part.begin), bytes.size());
    Fd sparse = crafted();
    ASSERT_EQ(ftruncate(sparse.get(), off_t{1} << 40), 0);
    EXPECT_TRUE(unwind_rows(std::move(sparse)).empty());
    Fd again = crafted();
    ASSERT_EQ(ftruncate(again.get(), off_t{1} << 40), 0);
    EXPECT_FALSE(CallFrames(std::move(again)).are_there());
}

static bool is_same(const UnwindRow& a, const UnwindRow& b)
{
    return a.offset == b.offset && a.kind == b.kind && a.how.cfa == b.how.cfa &&
           a.how.rbp == b.how.rbp && a.how.from == b.how.from &&
           a.how.rbp_from == b.how.rbp_from;
}

TEST(JailedUnwindTable, IsTheTableThatAParserInThisProcessReturns)
{
    const char* libc = "/lib/x86_64-linux-gnu/libc.so.6";
    const auto jailed = jailed_unwind_rows(opened(libc));
    const auto own = unwind_rows(opened(libc));
    ASSERT_GT(own.size(), 1000U);
    EXPECT_TRUE(
        std::equal(jailed.begin(), jailed.end(), own.begin(), own.end(), is_same));
    EXPECT_TRUE(jailed_unwind_rows(opened("/etc/passwd")).empty());
    EXPECT_TRUE(jailed_unwind_rows(Fd()).empty());
}

// Returns how many rows are accepted from a process that sends these rows.
static std::size_t n_accepted(const std::vector<UnwindRow>& rows,
                              std::uint32_t word = 2)
{
    auto serve = [&](Fd socket) {
        Channel channel(std::move(socket));
        if (!channel.receive())
            return;
        MessageWriter out;
        out.list(rows);
        (void)channel.send(word, out.body());
    };
    return jailed_unwind_rows(opened("/etc/passwd"), serve, 10'000'000'000).size();
}

TEST(JailedUnwindTable, RefusesMalformedTables)
{
    const dt_rt_rule good{0, 8, -16, DT_RT_FROM_RSP, DT_RT_FROM_CFA};
    const std::vector<UnwindRow> rows = {{1, UnwindRow::rule, good},
                                         {2, UnwindRow::none, {}}};
    EXPECT_EQ(n_accepted(rows), 2U);
    EXPECT_EQ(n_accepted(rows, 3), 0U);
    EXPECT_EQ(n_accepted({rows[1], rows[0]}), 0U);
    auto changed = rows;
    changed[0].kind = static_cast<UnwindRow::Kind>(9);
    EXPECT_EQ(n_accepted(changed), 0U);
    changed = rows;
    changed[0].how.from = 77;
    EXPECT_EQ(n_accepted(changed), 0U);
    changed = rows;
    changed[0].how.rbp_from = DT_RT_FROM_RSP;
    EXPECT_EQ(n_accepted(changed), 0U);
}

TEST(JailedUnwindTable, IsEmptyIfTheProcessEndsOrHangs)
{
    auto file = [] { return opened("/etc/passwd"); };
    EXPECT_TRUE(jailed_unwind_rows(
                    file(), [](Fd) { _exit(1); }, 10'000'000'000)
                    .empty());
    // The process is killed at the end, so it does not remain.
    EXPECT_TRUE(jailed_unwind_rows(
                    file(), [](Fd) { pause(); }, 50'000'000)
                    .empty());
    auto drip = [](Fd socket) {
        std::string message(40'000, '\0');
        message[9] = '\x40'; // the body has 0x4000 bytes
        for (const char& byte : message)
            if (write(socket.get(), &byte, 1) == 1)
                usleep(1000);
    };
    const std::uint64_t began = monotonic_ns();
    EXPECT_TRUE(jailed_unwind_rows(file(), drip, 50'000'000).empty());
    EXPECT_LT(monotonic_ns() - began, 5'000'000'000U);
}

} // namespace dt::agent
