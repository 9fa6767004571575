// SPDX-License-Identifier: MIT
// Tests that a failed compilation declares nothing, and that malicious input does no
// harm.
#include "tests/unit/compile/parse/support.hpp"
#include "tests/unit/n_cases.hpp"

#include <random>

namespace dt {

namespace {

std::string compile(Compiler& compiler, std::string_view text)
{
    CompileOptions options;
    auto result = compiler.compile(text, options);
    if (auto* wrong = std::get_if<Diagnostic>(&result))
        return wrong->text;
    return std::to_string(std::get<Program>(result).clauses.size()) + " clauses";
}

std::string compile(std::string_view text)
{
    Compiler compiler;
    return compile(compiler, text);
}

std::string repeat(std::string_view what, std::size_t times)
{
    std::string text;
    text.reserve(what.size() * times);
    for (std::size_t i = 0; i < times; ++i)
        text += what;
    return text;
}

} // namespace

TEST(Compiler, CompilesClausesToActions)
{
    EXPECT_EQ(compile("BEGIN { x = 1; trace(x); exit(0); } END /x == 2/ { trace(1); }"),
              "2 clauses");
}

TEST(Compiler, KeepsWhatOneProgramDeclaredForTheNext)
{
    Compiler compiler;
    EXPECT_EQ(compile(compiler, "typedef int my_t; my_t x; BEGIN { x = 1; }"),
              "1 clauses");
    EXPECT_EQ(compile(compiler, "my_t y; END { y = x; trace(y); }"), "1 clauses");
}

TEST(Compiler, KeepsNothingOfAProgramThatFails)
{
    Compiler compiler;
    EXPECT_EQ(compile(compiler, "struct s { int a; }; string x; enum { two = 2 };"
                                "BEGIN { y = 1; @a = count(); ] }"),
              "syntax error near \"]\"");
    EXPECT_EQ(compile(compiler, "string x; BEGIN { x = \"a\"; nosuch(); }"),
              "undefined function name: nosuch");
    EXPECT_EQ(compile(compiler, "struct s { char b; }; int x; enum { two = 3 };"
                                "BEGIN { y = \"a\"; @a = sum(1); trace(two); }"),
              "1 clauses");
}

TEST(Compiler, TakesStrsizeFromThePragma)
{
    Compiler compiler;
    CompileOptions options;
    auto result =
        compiler.compile("#pragma D option strsize=1k\nBEGIN { x = \"a\"; }", options);
    ASSERT_TRUE(std::holds_alternative<Program>(result));
    const Program& program = std::get<Program>(result);
    EXPECT_EQ(program.types->string_type()->size, 1024u);
    EXPECT_EQ(program.options.at(0).value, "1k");
}

TEST(Compiler, KeepsTheLineOfEachActionForFaults)
{
    Compiler compiler;
    ASSERT_EQ(compile(compiler, "int x, y; uint64_t z;\n\n"
                                "inline int half[int n] = 100 / n;"),
              "0 clauses");
    auto result = compiler.compile("# 41 \"x.d\"\n"
                                   "BEGIN\n"
                                   "/x != 1 / 2/\n"
                                   "{\n"
                                   "    printf(\"%d %d\",\r\n"
                                   "        half[y],\n"
                                   "        *(int *)z);\n"
                                   "    @a = count(); }\n",
                                   {});
    if (const auto* wrong = std::get_if<Diagnostic>(&result))
        FAIL() << wrong->text;
    const CompiledClause& clause = std::get<Program>(result).clauses.at(0);
    EXPECT_EQ(clause.source.line, "BEGIN");
    EXPECT_EQ(clause.source.at.line, 41);
    EXPECT_EQ(clause.predicate_source.line, "/x != 1 / 2/");
    ASSERT_EQ(clause.actions.size(), 3u);
    EXPECT_EQ(clause.actions[0].source.line, "        half[y],");
    EXPECT_EQ(clause.actions[0].source.at.line, 45);
    EXPECT_EQ(clause.actions[1].source.line, "        *(int *)z);");
    EXPECT_EQ(clause.actions[2].source.line, "    @a = count(); }");
}

TEST(Hostile, DeepNestingIsAnErrorAndNotACrash)
{
    const std::string cases[] = {
        "BEGIN { x = " + repeat("(", 10000) + "1" + repeat(")", 10000) + "; }",
        "BEGIN { x = " + repeat("-", 10000) + "1; }",
        "BEGIN { x = " + repeat("1+", 100000) + "1; }",
        "BEGIN { x = " + repeat("a?b:", 10000) + "1; }",
        "BEGIN { x = " + repeat("a[", 10000) + "1" + repeat("]", 10000) + "; }",
        "BEGIN { x = a" + repeat("->b", 100000) + "; }",
        "BEGIN { x " + repeat("= x ", 10000) + "; }",
        "BEGIN { x = " + repeat("(int)", 10000) + "1; }",
        "BEGIN { x = " + repeat("sizeof ", 10000) + "1; }",
        "BEGIN { " + repeat("if (x) { ", 10000),
        "BEGIN { " + repeat("if (x) y; else ", 10000) + "z; }",
        "int " + repeat("(", 10000) + "x" + repeat(")", 10000) + ";",
        "int " + repeat("*", 10000) + "x;",
        "int x" + repeat("[1]", 10000) + ";",
        repeat("struct { ", 10000),
        "int f" + repeat("(int", 10000) + ";",
        "BEGIN /" + repeat("!", 10000) + "x/ {}",
    };
    for (const std::string& text : cases) {
        Parsed parsed(text);
        ASSERT_TRUE(parsed.error) << text.substr(0, 40);
        EXPECT_EQ(parsed.error->tag, Tag::SYNTAX) << text.substr(0, 40);
        EXPECT_NE(parsed.message().find("nested too deeply"), std::string::npos)
            << text.substr(0, 40) << ": " << parsed.message();
    }
}

TEST(Hostile, TheHighestTreeThatParsesCompiles)
{
    EXPECT_EQ(compile("BEGIN { x = " + repeat("1+", 990) + "1; }"), "1 clauses");
    EXPECT_EQ(compile("BEGIN { x = " + repeat("- ", 900) + "1; }"), "1 clauses");
}

TEST(Hostile, ManyTypedefsOfTypedefsAreNoProblem)
{
    std::string text = "typedef int t0;";
    for (int i = 1; i < 20000; ++i)
        text += "typedef t" + std::to_string(i - 1) + " *t" + std::to_string(i) + ";";
    Parsed parsed(text + "t19999 x;");
    EXPECT_FALSE(parsed.error) << parsed.message();
}

TEST(Hostile, InlinesOfInlinesAreEvaluatedOnce)
{
    std::string doubling = "inline int a0 = 1;", chain = "inline int b0 = 1;";
    for (int i = 1; i < 60; ++i) {
        std::string before = "a" + std::to_string(i - 1);
        doubling += "inline int a" + std::to_string(i) + " = " + before + " % 7 + " +
                    before + ";";
    }
    const std::uint64_t n = test::n_cases(100000);
    for (std::uint64_t i = 1; i < n; ++i)
        chain += "inline int b" + std::to_string(i) + " = b" + std::to_string(i - 1) +
                 " + 1;";
    Parsed doubled(doubling + "int x[a59 % 100 + 1];");
    EXPECT_FALSE(doubled.error) << doubled.message();
    Parsed chained(chain + "char x[b" + std::to_string(n - 1) + "];");
    EXPECT_EQ(chained.type_of("x"), "char [" + std::to_string(n) + "]")
        << chained.message();
}

TEST(Hostile, LongChainsOfTypesAreReadInTimeThatGrowsWithTheText)
{
    std::string names = "typedef int t0;", arrays = "typedef int row0;";
    const std::uint64_t n_types = test::n_cases(50000);
    for (std::uint64_t i = 1; i < n_types; ++i) {
        std::string n = std::to_string(i), before = std::to_string(i - 1);
        names += "typedef t" + before + " t" + n + ";";
        arrays += "typedef row" + before + " row" + n + "[1];";
    }
    const std::string last = std::to_string(n_types - 1);
    EXPECT_EQ(Parsed(names + "t" + last + " x;").message(), "no error");
    EXPECT_EQ(Parsed(arrays + "row" + last + " x;").message(), "no error");
}

TEST(Hostile, MutilatedProgramsGiveDiagnosticsOnly)
{
    const std::string seed = "#pragma D option quiet\n"
                             "struct s { int a : 3; char *b[4]; union { int c; }; };\n"
                             "inline int n = 'ab' + 0x1F; self int t[string, int];\n"
                             "translator struct s < int *p > { a = *p; };\n"
                             "pid$target:a.out:f*:entry, BEGIN /x / 2 == 1 && $1/ {\n"
                             "  @a[execname, ustack()] = quantize(arg0, 1.5e3);\n"
                             "  if (x ? 1 : 2) { this->x = (struct s *)arg0; } else\n"
                             "  printf(\"%d\\n\", sizeof (int)); /* c */ // d\n"
                             "}\n";
    std::mt19937 random(42);
    auto pick = [&](std::size_t below) { return random() % below; };
    for (std::uint64_t round = test::n_cases(3000); round > 0; --round) {
        std::string text = seed;
        for (std::size_t n = 1 + pick(6); n > 0 && !text.empty(); --n) {
            std::size_t at = pick(text.size());
            switch (pick(4)) {
            case 0:
                text[at] = static_cast<char>(random());
                break;
            case 1:
                text.erase(at, pick(12));
                break;
            case 2:
                text.insert(at, text.substr(pick(text.size()), pick(20)));
                break;
            default:
                text.resize(at + 1);
            }
        }
        Parsed parsed;
        parsed.options.defaultargs = true;
        parsed.run(text);
        if (!parsed.error)
            parsed.lowered();
        else
            quote_source(text, parsed.error->at);
    }
}

} // namespace dt
