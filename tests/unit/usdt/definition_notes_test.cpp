// SPDX-License-Identifier: MIT
#include "usdt/definition_notes.hpp"
#include "usdt/header.hpp"
#include "usdt/object.hpp"

#include <cstring>
#include <elf.h>
#include <gtest/gtest.h>

namespace dt::usdt {
namespace {

DefinitionNotes parse(const std::string& section)
{
    return parse_definition_notes(std::as_bytes(std::span(section)));
}

ProviderSource shop()
{
    ProviderSource source;
    source.name = "shop";
    source.probes = {
        {"order__placed", {{"-4", "int dt_a1"}, {"8", "const char *dt_a2"}}},
        {"start", {}}};
    source.definition = "provider shop {\n\tprobe start();\n};\n";
    return source;
}

TEST(DefinitionNotes, AreReadAsTheyAreWritten)
{
    DefinitionNote one{"shop", "provider shop { };\n"}, other{"web", ""};
    auto read = parse(definition_note(one) + definition_note(other));
    EXPECT_EQ(read.notes, (std::vector{one, other}));
    EXPECT_TRUE(read.troubles.empty());
}

TEST(DefinitionNotes, TheSameTwiceIsOneAndAnotherStays)
{
    DefinitionNote one{"shop", "a"}, other{"shop", "b"};
    auto read =
        parse(definition_note(one) + definition_note(one) + definition_note(other));
    EXPECT_EQ(read.notes, (std::vector{one, other}));
}

TEST(DefinitionNotes, BeyondTheLimitAreOmitted)
{
    std::string section;
    for (std::size_t i = 0; i < 2 * max_definitions; i++)
        section += definition_note({"shop", std::to_string(i)});
    auto read = parse(section);
    EXPECT_EQ(read.notes.size(), max_definitions);
    EXPECT_EQ(read.troubles, (std::vector<std::string>{
                                 ".note.dtrace has more than 4096 notes: 4096 of "
                                 "them are omitted"}));
}

TEST(DefinitionNotes, ThatAreInvalidAreReportedAndOmitted)
{
    std::string whole = definition_note({"shop", "provider shop { };"});
    for (std::size_t n = 0; n < whole.size(); n++) {
        auto read = parse(whole.substr(0, n));
        EXPECT_TRUE(read.notes.empty() || n + 4 > whole.size()) << n;
    }
    std::string endless = whole;
    for (std::size_t at = 20; at < endless.size(); at++)
        if (endless[at] == '\0')
            endless[at] = 'x';
    EXPECT_TRUE(parse(endless).notes.empty());
    EXPECT_EQ(parse(endless).troubles.size(), 1U);
}

TEST(ProviderSource, NamesAreThoseOfClassicHeaders)
{
    EXPECT_EQ(macro_name("postgresql", "query__start"), "POSTGRESQL_QUERY_START");
    EXPECT_EQ(note_name("query-start"), "query__start");
    EXPECT_EQ(semaphore_name("web", "go"), "web_go_semaphore");
    ProviderSource other = shop();
    EXPECT_EQ(group_name(other), group_name(shop()));
    other.definition += " ";
    EXPECT_NE(group_name(other), group_name(shop()));
}

// Python's build edits the header, and renames only the first upper-case name in each
// line. So a line must not contain a macro's name twice.
TEST(Header, NamesAMacroOnceInALine)
{
    ProviderSource source = shop();
    std::string text = header_text(std::span(&source, 1), "shop.d");
    EXPECT_NE(text.find("#define SHOP_ORDER_PLACED(dt_a1, dt_a2) \\\n"), text.npos);
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = text.find('\n', at);
        std::string line = text.substr(at, end - at);
        EXPECT_EQ(line.find("SHOP_"), line.rfind("SHOP_")) << line;
        at = end + 1;
    }
}

TEST(Object, IsAnElfFileWithoutAProviderToo)
{
    for (std::size_t n : {0U, 1U}) {
        ProviderSource source = shop();
        std::string bytes = object_text(std::span(&source, n));
        Elf64_Ehdr header{};
        ASSERT_GE(bytes.size(), sizeof header);
        std::memcpy(&header, bytes.data(), sizeof header);
        EXPECT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
        EXPECT_EQ(header.e_type, ET_REL);
        EXPECT_EQ(header.e_shoff + header.e_shnum * sizeof(Elf64_Shdr), bytes.size());
    }
}

} // namespace
} // namespace dt::usdt
