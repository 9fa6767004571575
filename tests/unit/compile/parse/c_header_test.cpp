// SPDX-License-Identifier: MIT
#include "tests/unit/compile/parse/support.hpp"
#include "tests/unit/n_cases.hpp"

namespace dt {

namespace {

// Returns what cpp writes for a script that includes a header with this text.
std::string included(std::string_view header)
{
    return "# 1 \"x.h\" 1\n" + std::string(header) + "\n# 2 \"script.d\" 2\n";
}

std::uint64_t size_in(const Parsed& parsed, std::string_view type)
{
    const Type* found = parsed.types.lookup(type);
    return found == nullptr ? 0 : found->resolve()->size;
}

std::string repeated(std::string_view text, int n)
{
    std::string all;
    for (int i = 0; i < n; ++i)
        all += text;
    return all;
}

} // namespace

TEST(CHeader, KeepsWhatItDeclaresAndPassesOverTheRest)
{
    Parsed parsed(included("static inline int f(int n, int a[n]) { return a[0]; }\n"
                           "static const int three = 3, four[] = { [3] = 4, };\n"
                           "extern int g(void) __asm__(\"h\");"));
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(parsed.type_of("f"), "int (int, int *)");
    EXPECT_EQ(parsed.type_of("three"), "const int");
    EXPECT_EQ(parsed.type_of("g"), "int (void)");
    EXPECT_EQ(parsed.decl(1).kind, DeclKind::TypeOnly);
}

TEST(CHeader, PacksAsPragmaPackSays)
{
    struct Case {
        const char* pragma;
        std::uint64_t bytes;
    };
    for (auto [pragma, bytes] : {Case{"(1)", 9},
                                 {"(2)", 10},
                                 {"( push , 4 )", 12},
                                 {"()", 16},
                                 {"(push, name, 1)", 9},
                                 {"(pop)", 16},
                                 {"(3)", 16},
                                 {"(", 16},
                                 {"", 16},
                                 {")1(", 16},
                                 {"(push,,,,)", 16},
                                 {"(16)", 16}}) {
        Parsed parsed(included("#pragma pack" + std::string(pragma) +
                               "\nstruct s { char a; long b; };"));
        ASSERT_FALSE(parsed.error) << parsed.message();
        EXPECT_EQ(size_in(parsed, "struct s"), bytes) << pragma;
    }
}

TEST(CHeader, RestoresPackingInTheOrderItWasSaved)
{
    Parsed parsed(included("#pragma pack(push, 1)\n#pragma pack(push, 2)\n"
                           "#pragma pack(pop)\nstruct a { char c; long l; };\n"
                           "#pragma pack(pop)\nstruct b { char c; long l; };"));
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(size_in(parsed, "struct a"), 9u);
    EXPECT_EQ(size_in(parsed, "struct b"), 16u);
}

TEST(CHeader, IsRefusedWhereItEndsTooEarly)
{
    for (std::string_view text : {"static inline int f(void) { if (1) {",
                                  "__attribute__",
                                  "__attribute__((",
                                  "__attribute__((aligned(",
                                  "struct s { int a; } __attribute__((packed)",
                                  "_Static_assert",
                                  "_Static_assert(1",
                                  "asm",
                                  "int x = { 1,",
                                  "_Alignas(",
                                  "__typeof__",
                                  "__typeof__(",
                                  "_Atomic(",
                                  "_Atomic",
                                  "_Complex",
                                  "__int128",
                                  "int f(int a[",
                                  "int f(int a[static",
                                  "[[",
                                  "[[a]]",
                                  "enum e { A",
                                  "__extension__",
                                  "typedef int v __attribute__((vector_size(",
                                  "inline",
                                  "int a __attribute__((mode(",
                                  "__attribute__((mode(DI",
                                  "struct {"}) {
        Parsed parsed("# 1 \"x.h\" 1\n" + std::string(text));
        ASSERT_TRUE(parsed.error) << text;
        EXPECT_FALSE(parsed.error->text.empty()) << text;
    }
}

TEST(CHeader, IsNoDeeperThanAnythingElse)
{
    const int deep = static_cast<int>(test::n_cases(100'000));
    for (const std::string& text :
         {repeated("__typeof__(", deep), repeated("_Atomic(", deep),
          repeated("_Alignas(", deep), "int a[1 + " + repeated("__extension__ ", deep),
          "int a[" + repeated("_Alignof ", deep),
          repeated("__attribute__((aligned(sizeof(", deep),
          repeated("struct {", deep)}) {
        Parsed parsed(included(text));
        ASSERT_TRUE(parsed.error) << text.substr(0, 40);
        EXPECT_NE(parsed.error->text.find("nested"), std::string::npos)
            << parsed.error->text;
    }
}

TEST(CHeader, RefusesSizesThatNoProgramHas)
{
    Parsed vector(included("typedef int v __attribute__((vector_size(12)));"));
    ASSERT_TRUE(vector.error);
    EXPECT_EQ(vector.error->tag, Tag::DECL_ARRSUB);
    Parsed large(included("struct s { char a[2147483647]; char b; } "
                          "__attribute__((aligned(268435456)));"));
    ASSERT_TRUE(large.error);
    EXPECT_EQ(large.error->tag, Tag::DECL_ARRBIG);
    Parsed odd(
        included("struct s { char a; } __attribute__((aligned(3), aligned(0)));"));
    ASSERT_FALSE(odd.error) << odd.message();
    EXPECT_EQ(size_in(odd, "struct s"), 1u);
}

TEST(CHeader, SaysTheSameAgainButNothingElse)
{
    const char* first = "struct s { int a; union { long b; char c; }; };";
    EXPECT_FALSE(Parsed(included(std::string(first) + first)).error);
    Parsed other(included(std::string(first) + "struct s { int a; long b; };"));
    ASSERT_TRUE(other.error);
    EXPECT_EQ(other.error->tag, Tag::DECL_TYPERED);
    Parsed own(std::string(first) + first);
    ASSERT_TRUE(own.error);
    EXPECT_EQ(own.error->tag, Tag::DECL_TYPERED);
}

} // namespace dt
