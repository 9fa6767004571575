// SPDX-License-Identifier: MIT
// Tests stability attributes, and the D versions that introduced names.
#include "tests/unit/compile/check/support.hpp"

#include "libdtrace/compile/builtins.hpp"

#include <gtest/gtest.h>

namespace dt {

TEST(Attributes, AreWrittenAndReadBackInLettersOfEitherCase)
{
    const Attributes some{Stability::Evolving, Stability::Private,
                          DependencyClass::Isa};
    EXPECT_EQ(attributes_text(some), "Evolving/Private/ISA");
    EXPECT_EQ(parse_attributes("Evolving/Private/ISA"), some);
    EXPECT_EQ(parse_attributes("evolving/PRIVATE/isa"), some);
    for (const char* bad : {"", "Evolving", "Evolving/Private", "Evolving/Private/ISA/",
                            "Evolving/Private/", "Common/Private/ISA", "//"})
        EXPECT_FALSE(parse_attributes(bad)) << bad;
}

TEST(Attributes, OnePartBelowTheLeastIsBelow)
{
    EXPECT_FALSE(is_below(stable_attributes, stable_attributes));
    EXPECT_FALSE(is_below(strongest_attributes, stable_attributes));
    EXPECT_TRUE(
        is_below({Stability::Standard, Stability::Standard, DependencyClass::Isa},
                 stable_attributes));
}

TEST(Versions, HaveTwoOrThreeNumbers)
{
    EXPECT_EQ(parse_version("1.10"), (Version{1, 10, 0}));
    EXPECT_EQ(parse_version("1.2.1"), (Version{1, 2, 1}));
    for (const char* bad : {"", "1", "1.", ".1", "1.2.", "1.2.3.4", "a.b", "1.-2",
                            "256.0", "1.4096", "1.99999999999"})
        EXPECT_FALSE(parse_version(bad)) << bad;
    EXPECT_TRUE(is_defined(first_version));
    EXPECT_TRUE(is_defined(latest_version));
    EXPECT_TRUE(is_defined({1, 6, 3}));
    EXPECT_FALSE(is_defined({1, 2, 3}));
    EXPECT_FALSE(is_defined({0, 9, 0}));
    EXPECT_FALSE(is_defined({1, 14, 0}));
}

TEST(BuiltinFacts, GiveEachNameAFirstVersionThatIsDefined)
{
    for (const auto& names : {variable_names(), function_names()})
        for (std::string_view name : names)
            EXPECT_TRUE(is_defined(facts_of(name).since)) << name;
    EXPECT_NE(facts_of("getmajor").attributes, stable_attributes);
}

static std::string names_of(Checked& checked)
{
    return checked.error ? checked.text()
                         : attributes_text(checked.unit.clauses.back()->names);
}

TEST(CheckStability, AClauseIsAsStableAsTheWeakestNameInIt)
{
    Checked checked;
    checked.run("BEGIN { x = 1; @[pid] = count(); }");
    EXPECT_EQ(names_of(checked), "Stable/Stable/Common");
    checked.run("BEGIN /htons(1) == 0/ { trace(x); }");
    EXPECT_EQ(names_of(checked), "Evolving/Evolving/Common");
    checked.run("#pragma D attributes Standard/Private/ISA y\nBEGIN { y = htons(1); }");
    EXPECT_EQ(names_of(checked), "Evolving/Private/ISA");
    checked.run("BEGIN { trace(y); } BEGIN { trace(pid); }");
    EXPECT_EQ(names_of(checked), "Stable/Stable/Common");
}

TEST(CheckStability, NamesBelowTheMinimumAreRefusedAtTheirPlace)
{
    Checked checked;
    checked.options.amin = stable_attributes;
    checked.run("inline int port = htons(80);\nBEGIN {\ntrace(pid);\ntrace(port); }");
    EXPECT_EQ(checked.tag(), "D_ATTR_MIN");
    EXPECT_EQ(checked.error->at.line, 4);
    EXPECT_EQ(checked.text(),
              "attributes for identifier htons (Evolving/Evolving/Common) "
              "are less than predefined minimum");
}

TEST(CheckStability, ADescriptionIsJudgedByWhatItMatches)
{
    Checked checked;
    checked.environment.on_match = [](const ProbeSpec&) {
        ProbeMatch match;
        match.ids = {7};
        return match;
    };
    checked.environment.on_stability = [](std::span<const std::uint32_t> ids) {
        EXPECT_EQ(ids.front(), 7u);
        ProbeStability found;
        found.descriptions.data = Stability::Unstable;
        return found;
    };
    checked.run("a:b:c:d { trace(pid); }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_EQ(attributes_text(checked.unit.clauses.back()->descriptions),
              "Standard/Unstable/Common");
    checked.options.amin = stable_attributes;
    checked.run("a:b:c:d { trace(pid); }");
    EXPECT_EQ(checked.text(),
              "attributes for probe description a:b:c:d "
              "(Standard/Unstable/Common) are less than predefined minimum");
}

TEST(CheckStability, NamesOfLaterVersionsAreFree)
{
    Checked checked;
    checked.options.version = {1, 1, 0};
    checked.run("BEGIN { trace(ucaller); }");
    EXPECT_EQ(checked.text(),
              "failed to resolve ucaller: Unknown variable name; it requires D "
              "version 1.2 or later, but the version option is 1.1");
    checked.run("BEGIN { ucaller = 1; json[1] = 2; trace(ucaller); }");
    EXPECT_FALSE(checked.error) << checked.text();
    Checked later;
    later.options.version = {1, 11, 0};
    later.run("BEGIN { trace(json(\"{}\", \"a\")); }");
    EXPECT_FALSE(later.error) << later.text();
}

TEST(CompilerVersion, ALoweredOneTakesAwayWhatEarlierProgramsBound)
{
    Compiler compiler;
    CompileOptions options;
    options.library = options.empty = true;
    compiler.compile("#pragma D binding \"1.6\" newer\ninline int newer = 6;", options);
    options.library = options.empty = false;
    options.string_program = true;
    auto at_latest = compiler.compile("BEGIN { trace(newer); }", options);
    EXPECT_TRUE(std::holds_alternative<Program>(at_latest));
    options.version = {1, 5, 0};
    auto at_1_5 = compiler.compile("BEGIN { trace(newer); }", options);
    ASSERT_TRUE(std::holds_alternative<Diagnostic>(at_1_5));
    EXPECT_EQ(std::get<Diagnostic>(at_1_5).tag, Tag::IDENT_UNDEF);
    EXPECT_TRUE(std::holds_alternative<Program>(
        compiler.compile("BEGIN { newer = \"mine\"; trace(newer); }", options)));
}

TEST(CompilerAttributes, AProvidersBlockSetsThoseOfItsParts)
{
    Compiler compiler;
    CompileOptions options;
    auto compiled = compiler.compile(
        "provider web { probe go(); };\n"
        "#pragma D attributes Evolving/Private/ISA provider web name\nBEGIN { }",
        options);
    ASSERT_TRUE(std::holds_alternative<Program>(compiled));
    ProviderAttributes parts;
    EXPECT_TRUE(compiler.set_attributes("web42", parts));
    EXPECT_EQ(attributes_text(parts.name), "Evolving/Private/ISA");
    EXPECT_EQ(attributes_text(parts.args), "Private/Private/Unknown");
    EXPECT_FALSE(compiler.set_attributes("cobweb42", parts));
}

} // namespace dt
