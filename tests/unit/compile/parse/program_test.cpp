// SPDX-License-Identifier: MIT
#include "tests/unit/compile/parse/support.hpp"

namespace dt {

namespace {

Parsed command_line(std::string_view text, SpecField field = SpecField::Name)
{
    return Parsed(text, [field](Parsed& parsed) {
        parsed.options.string_program = true;
        parsed.options.field = field;
    });
}

} // namespace

TEST(Program, FillsProbeDescriptionsFromTheRight)
{
    EXPECT_EQ(Parsed("BEGIN {}").spec(), ":::BEGIN");
    EXPECT_EQ(Parsed("malloc:entry {}").spec(), "::malloc:entry");
    EXPECT_EQ(Parsed("syscall::read*: {}").spec(), "syscall::read*:");
    EXPECT_EQ(Parsed("pid1:a.out:foo[0-9]?:1f {}").spec(), "pid1:a.out:foo[0-9]?:1f");
    EXPECT_EQ(Parsed("pid1:libstdc++.so.6::entry {}").spec(),
              "pid1:libstdc++.so.6::entry");
    EXPECT_EQ(Parsed("::: {}").spec(), ":::");
}

TEST(Program, ShiftsFieldsByTheFlagThatGaveTheText)
{
    EXPECT_EQ(command_line("syscall", SpecField::Provider).spec(), "syscall:::");
    EXPECT_EQ(command_line("libc.so.6", SpecField::Module).spec(), ":libc.so.6::");
    EXPECT_EQ(command_line("pid1:libc", SpecField::Module).spec(), "pid1:libc::");
    EXPECT_EQ(command_line("malloc", SpecField::Function).spec(), "::malloc:");
    EXPECT_EQ(command_line("a:", SpecField::Function).spec(), ":a::");
    EXPECT_EQ(command_line("a:b", SpecField::Provider).message(),
              "invalid probe description \"a:b\": Overspecified probe description");
}

TEST(Program, AllowsBareDescriptionsOnTheCommandLineOnly)
{
    EXPECT_TRUE(command_line("BEGIN").clause().default_action);
    EXPECT_EQ(command_line("BEGIN, END").clause().probes.size(), 2u);
    Parsed script("BEGIN\n");
    ASSERT_TRUE(script.error);
    EXPECT_EQ(script.error->tag, Tag::SYNTAX);
    EXPECT_EQ(script.message(),
              "expected predicate and/or actions following probe description");
}

TEST(Program, TakesNumbersAsProbeIds)
{
    EXPECT_EQ(command_line("12").clause().probes[0].id, 12u);
    EXPECT_EQ(Parsed("7 { trace(1); }").clause().probes[0].id, 7u);
    EXPECT_EQ(command_line("0").message(),
              "invalid probe identifier 0: Unknown probe identifier");
}

TEST(Program, ClosesThePredicateAtTheSlashBeforeABraceOrTheEnd)
{
    Parsed parsed("BEGIN /x / y/ { trace(1); }");
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(shape(*parsed.clause().predicate), "(x / y)");
    EXPECT_EQ(shape(*Parsed("BEGIN / a /").clause().predicate), "a");
    EXPECT_EQ(shape(*Parsed("BEGIN /a/;").clause().predicate), "a");
    EXPECT_TRUE(Parsed("BEGIN /a/").clause().default_action);
    EXPECT_EQ(Parsed("BEGIN /(a/ {}").message(),
              "closing ) expected in predicate before /");
    EXPECT_EQ(Parsed("BEGIN /a[1/ {}").message(),
              "closing ] expected in predicate before /");
}

TEST(Program, SkipsCommentsButNotBetweenPredicateSlashes)
{
    Parsed parsed(
        "// first\nBEGIN // second\n/1/ // third\n{ // fourth }\n trace(2); }");
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(shape(parsed.expr()), "trace(2)");
    // The predicate ends at the first / of //. So // does not start a comment here.
    EXPECT_EQ(Parsed("BEGIN /x//y/ {}").message(), "syntax error near \"/\"");
    EXPECT_EQ(Parsed("BEGIN /* a * b \n / c */ { }").message(), "no error");
    EXPECT_EQ(Parsed("BEGIN /* /* */").message(), "/* encountered inside a comment");
    EXPECT_EQ(Parsed("BEGIN { } */").message(), "*/ encountered outside a comment");
    EXPECT_EQ(Parsed("BEGIN /*").message(),
              "end-of-file encountered before matching */");
}

TEST(Program, TellsATypesNameFromAGlob)
{
    EXPECT_EQ(Parsed("int* x;").type_of("x"), "int *");
    EXPECT_EQ(Parsed("uint8_t* x;").type_of("x"), "uint8_t *");
    EXPECT_EQ(Parsed("int*: {}").spec(), "::int*:");
    EXPECT_EQ(Parsed("probe:::entry {}").spec(), "probe:::entry");
    Parsed pspec;
    pspec.options.pspec = true;
    EXPECT_EQ(pspec.run("int* {}").spec(), ":::int*");
}

TEST(Program, NamesTheTokenThatDoesNotFit)
{
    EXPECT_EQ(Parsed("BEGIN { x = ; }").message(), "syntax error near \";\"");
    EXPECT_EQ(Parsed("BEGIN { while (1) }").message(), "syntax error near \"while\"");
    EXPECT_EQ(Parsed("BEGIN { x = 1 y = 2 }").message(), "syntax error near \"y\"");
    EXPECT_EQ(Parsed("BEGIN {").message(), "syntax error near end of input");
    EXPECT_EQ(Parsed("BEGIN { x = 1LU; }").message(), "syntax error near \"U\"");
    EXPECT_EQ(Parsed(std::string_view("BEGIN { \0 }", 11)).message(),
              "syntax error near \"\\x00\"");
}

TEST(Program, PlacesErrorsAtTheOffendingToken)
{
    Parsed parsed("BEGIN\n{\n\ttrace(1);\r\n\tx = ;\n}\n");
    ASSERT_TRUE(parsed.error);
    EXPECT_EQ(parsed.error->at.line, 4);
    EXPECT_EQ(parsed.error->at.column, 6);
}

TEST(Program, IsEmptyWithoutDeclarationsAndClauses)
{
    Parsed parsed("/* nothing */\n#pragma D option quiet\n");
    ASSERT_TRUE(parsed.error);
    EXPECT_EQ(parsed.error->tag, Tag::EMPTY);
    EXPECT_EQ(parsed.error->at.line, 0);
    EXPECT_EQ(parsed.message(), "empty D program translation unit");
    EXPECT_FALSE(Parsed("#pragma D option empty\n").error);
    EXPECT_FALSE(Parsed("struct foo;").error);
}

TEST(Program, KeepsTheOrderOfClausesAndDeclarations)
{
    Parsed parsed("int a; BEGIN { a = 1; } int b; END { b = 1; }");
    const std::vector<std::pair<bool, std::size_t>> order = {
        {true, 0}, {false, 0}, {true, 1}, {false, 1}};
    EXPECT_EQ(parsed.unit.order, order);
}

TEST(Program, ReadsProviderBlocks)
{
    Parsed parsed("provider shop { probe query__start(int, char *q) : (char *q, int);"
                  " probe done(); };");
    ASSERT_FALSE(parsed.error) << parsed.message();
    const auto& probes = parsed.decl().probes;
    ASSERT_EQ(probes.size(), 2u);
    EXPECT_EQ(probes[0].name, "query__start");
    ASSERT_EQ(probes[0].native.size(), 2u);
    EXPECT_EQ(type_text(probes[0].native[1]), "char *");
    EXPECT_EQ(probes[0].translated_names[0], "q");
    EXPECT_FALSE(probes[1].has_translated);
    EXPECT_EQ(Parsed("provider p9 { };").error->tag, Tag::PROV_BADNAME);
    EXPECT_EQ(Parsed("provider p { probe a(); probe a(); };").error->tag,
              Tag::PROV_PRDUP);
}

TEST(Program, ReadsTranslatorsAndInlines)
{
    Parsed parsed("struct in { int a; }; struct out { int b; };"
                  "translator struct out < struct in *p > { b = p->a; };"
                  "inline int limit = 3 + 4; inline int twice[int x] = x * 2;");
    ASSERT_FALSE(parsed.error) << parsed.message();
    const Decl& translator = parsed.decl(2);
    EXPECT_EQ(type_text(translator.to), "struct out");
    EXPECT_EQ(type_text(translator.from), "struct in *");
    EXPECT_EQ(translator.parameter, "p");
    EXPECT_EQ(shape(*translator.members.at(0).expr), "p->a");
    EXPECT_EQ(shape(*parsed.decl(3).expr), "(3 + 4)");
    EXPECT_TRUE(parsed.decl(4).assoc);
    EXPECT_EQ(parsed.decl(4).key_names.at(0), "x");
}

} // namespace dt
