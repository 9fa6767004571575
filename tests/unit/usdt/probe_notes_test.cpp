// SPDX-License-Identifier: MIT
#include "usdt/probe_notes.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace dt::usdt {
namespace {

// A section of consecutive notes, as an assembler writes them.
class Section {
public:
    Section& note(std::string description, std::string owner = "stapsdt",
                  std::uint32_t type = 3)
    {
        owner += '\0';
        number(owner.size()).number(description.size()).number(type);
        padded(owner);
        padded(description);
        return *this;
    }
    Section& number(std::size_t n)
    {
        auto word = static_cast<std::uint32_t>(n);
        bytes_.append(reinterpret_cast<const char*>(&word), sizeof word);
        return *this;
    }
    ProbeNotes parse() const
    {
        return parse_probe_notes(std::as_bytes(std::span(bytes_)));
    }

    static std::string probe(std::uint64_t at, std::uint64_t base,
                             std::uint64_t semaphore, const std::string& names)
    {
        std::uint64_t words[] = {at, base, semaphore};
        return std::string(reinterpret_cast<const char*>(words), sizeof words) + names;
    }

private:
    void padded(std::string text)
    {
        text.resize((text.size() + 3) / 4 * 4);
        bytes_ += text;
    }

    std::string bytes_;
};

using namespace std::string_literals;

TEST(ProbeNotes, BeyondTheLimitAreOmitted)
{
    Section section;
    for (std::size_t i = 0; i < max_probe_notes + 34'464; i++)
        section.note(Section::probe(0x1000 + i, 0x5000, 0, "app\0query\0\0"s));
    ProbeNotes all = section.parse();
    EXPECT_EQ(all.notes.size(), max_probe_notes);
    EXPECT_EQ(all.troubles, (std::vector<std::string>{
                                ".note.stapsdt has more than 65536 notes: 34464 of "
                                "them are omitted"}));
}

TEST(ProbeNotes, EveryNoteOfTheOwnerIsASite)
{
    ProbeNotes all =
        Section()
            .note(Section::probe(0x1000, 0x5000, 0x6000,
                                 "app\0query__start\0"
                                 "8@%rbx\0"s))
            .note("whatever", "GNU")
            .note(Section::probe(0x2000, 0x5000, 0, "app\0query__done\0\0"s))
            .parse();
    ASSERT_EQ(all.notes.size(), 2u);
    EXPECT_EQ(all.notes[0].at, 0x1000u);
    EXPECT_EQ(all.notes[0].base, 0x5000u);
    EXPECT_EQ(all.notes[0].semaphore, 0x6000u);
    EXPECT_EQ(all.notes[0].provider, "app");
    EXPECT_EQ(all.notes[0].name, "query__start");
    EXPECT_EQ(all.notes[0].arguments, "8@%rbx");
    EXPECT_EQ(all.notes[1].arguments, "");
    EXPECT_TRUE(all.troubles.empty());
}

TEST(ProbeNotes, NotesOfObjectFilesHaveNoAddressYet)
{
    ProbeNotes all = Section()
                         .note(Section::probe(0, 0x5000, 0, "app\0dropped\0\0"s))
                         .note(Section::probe(0x2000, 0x5000, 0, "app\0kept\0\0"s))
                         .parse();
    ASSERT_EQ(all.notes.size(), 2u);
    EXPECT_EQ(all.notes[0].at, 0u);
    EXPECT_EQ(all.notes[1].name, "kept");
    EXPECT_TRUE(all.troubles.empty());
}

TEST(ProbeNotes, AnInvalidNoteIsOmittedAndReported)
{
    ProbeNotes all = Section()
                         .note("short")
                         .note(Section::probe(1, 2, 3, "no end"))
                         .note(Section::probe(1, 2, 3, "app\0name\0no end"s))
                         .note(Section::probe(1, 2, 3, "\0name\0\0"s))
                         .note(Section::probe(1, 2, 3, "a:b\0name\0\0"s))
                         .note(Section::probe(4, 5, 0, "app\0good\0\0"s))
                         .parse();
    ASSERT_EQ(all.notes.size(), 1u);
    EXPECT_EQ(all.notes[0].name, "good");
    EXPECT_EQ(all.troubles.size(), 5u);
    EXPECT_EQ(all.troubles[0], "the note at offset 0 of .note.stapsdt is too short for "
                               "three addresses");
}

TEST(ProbeNotes, SizesBeyondTheSectionEndIt)
{
    ProbeNotes all = Section()
                         .note(Section::probe(4, 5, 0, "app\0good\0\0"s))
                         .number(8)
                         .number(0xfffffff0)
                         .number(3)
                         .parse();
    EXPECT_EQ(all.notes.size(), 1u);
    EXPECT_EQ(all.troubles.size(), 1u);
    for (std::size_t n : {1u, 4u, 11u}) {
        std::vector<std::byte> few(n, std::byte{0xff});
        EXPECT_TRUE(parse_probe_notes(few).notes.empty());
    }
    EXPECT_TRUE(parse_probe_notes({}).troubles.empty());
}

TEST(ProbeNotes, TwoUnderscoresAreADash)
{
    EXPECT_EQ(probe_name("query__start"), "query-start");
    EXPECT_EQ(probe_name("gc__mark__begin"), "gc-mark-begin");
    EXPECT_EQ(probe_name("a_b"), "a_b");
    EXPECT_EQ(probe_name("a___b"), "a-_b");
    EXPECT_EQ(probe_name("__x__"), "-x-");
}

} // namespace
} // namespace dt::usdt
