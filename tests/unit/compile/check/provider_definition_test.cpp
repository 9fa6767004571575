// SPDX-License-Identifier: MIT
#include "libdtrace/compile/check/provider_definition.hpp"

#include "libdtrace/compile/check/definition_text.hpp"

#include <gtest/gtest.h>

namespace dt {
namespace {

using Definition = std::shared_ptr<const ProviderDefinition>;

ProviderBlock block_of(std::string_view text, Compiler& compiler)
{
    CompileOptions options;
    options.empty = true;
    auto compiled = compiler.compile(text, options);
    if (auto* wrong = std::get_if<Diagnostic>(&compiled))
        ADD_FAILURE() << wrong->text;
    return std::get<Program>(compiled).providers.at(0);
}

Definition read(std::string_view provider, const std::string& text)
{
    auto made = read_definition(provider, text);
    if (auto* wrong = std::get_if<std::string>(&made))
        ADD_FAILURE() << *wrong << "\n" << text;
    return std::get<Definition>(made);
}

TEST(DefinitionText, SaysTheTypesThatArgumentsLeadTo)
{
    Compiler compiler;
    ProviderBlock block =
        block_of("struct unused { int a; };\n"
                 "typedef struct node { struct node *next; union { int i; char c[4]; "
                 "}; } node_t;\n"
                 "enum colour { RED = 3, BLUE };\n"
                 "typedef struct { node_t inside; enum colour colour : 4; int "
                 "(*call)(node_t *); } "
                 "all_t;\n"
                 "provider web { probe go__on(all_t *a, const char *, uint32_t) : "
                 "(uint32_t a); };\n"
                 "#pragma D attributes Stable/Evolving/ISA provider web args\n",
                 compiler);
    std::string text = definition_text(block);
    EXPECT_EQ(text.find("unused"), text.npos);
    EXPECT_EQ(text.find("uint32_t;"), text.npos);
    Definition definition = read("web", text);
    const ProviderProbe* probe = definition->probe("go-on");
    ASSERT_NE(probe, nullptr);
    Member found;
    const Type* all = probe->native[0]->resolve()->base;
    ASSERT_TRUE(all->resolve()->find_member("inside", found));
    EXPECT_TRUE(found.type->resolve()->find_member("c", found));
    EXPECT_EQ(probe->mapping, std::vector{0U});
    ProviderAttributes parts;
    definition->set_attributes(parts);
    EXPECT_EQ(attributes_text(parts.args), "Stable/Evolving/ISA");
    EXPECT_EQ(definition_text(definition->block), text);
}

TEST(DefinitionText, LeavesOutWhatDCannotSay)
{
    Compiler compiler;
    ProviderBlock block = block_of(
        "# 1 \"some.h\" 1\n"
        "struct packed { char c; int i; } __attribute__((packed));\n"
        "typedef struct { char c; int i; } __attribute__((packed)) nameless_t;\n"
        "# 1 \"web.d\" 2\n"
        "provider web { probe go(struct packed *, nameless_t *); };\n",
        compiler);
    Definition definition = read("web", definition_text(block));
    const ProviderProbe* probe = definition->probe("go");
    ASSERT_NE(probe, nullptr);
    EXPECT_FALSE(probe->native[0]->base->resolve()->complete);
    EXPECT_FALSE(probe->native[1]->base->resolve()->complete);
    EXPECT_EQ(type_text(probe->native[1]), "nameless_t *");
}

TEST(ProviderDefinition, InvalidTextIsReportedAsASentence)
{
    for (std::string text :
         {"", "provider web {", "provider other { probe go(); };", "BEGIN { exit(0); }",
          "provider web { probe go(nosuch_t *); };", "\xff\xfe"}) {
        auto made = read_definition("web", text);
        EXPECT_TRUE(std::holds_alternative<std::string>(made)) << text;
    }
    EXPECT_TRUE(std::holds_alternative<std::string>(
        read_definition("web", std::string(2 << 20, ' '))));
}

TEST(ProviderDefinition, ShowsArgumentsInTheOrderThatItSays)
{
    Definition definition =
        read("web", "typedef struct { int x; } in_t; typedef struct { int y; } out_t;\n"
                    "provider web { probe go(int i, in_t *p, int j) : "
                    "(int j, out_t *p, long i); };");
    auto shown = shown_arguments(*definition->probe("go"));
    ASSERT_EQ(shown.size(), 3U);
    EXPECT_EQ(shown[0].n, 2U);
    EXPECT_EQ(shown[0].native, nullptr);
    EXPECT_EQ(shown[1].n, 1U);
    EXPECT_NE(shown[1].native, nullptr);
    EXPECT_EQ(shown[2].native, nullptr);
    EXPECT_EQ(shown[2].n, 0U);
}

} // namespace
} // namespace dt
