// SPDX-License-Identifier: MIT
#include "tests/unit/compile/parse/support.hpp"

namespace dt {

TEST(Declaration, ReadsDeclaratorsInsideOut)
{
    Parsed parsed("int a, *b, c[4], *d[4], (*e)[4], *(*f)(int, char *), **g, h[2][3];"
                  "unsigned long int i; const char *j; char *const k; userland char *l;"
                  "int (*(*m)(void))(char, ...);");
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(parsed.type_of("a"), "int");
    EXPECT_EQ(parsed.type_of("b"), "int *");
    EXPECT_EQ(parsed.type_of("c"), "int [4]");
    EXPECT_EQ(parsed.type_of("d"), "int *[4]");
    EXPECT_EQ(parsed.type_of("e"), "int (*)[4]");
    EXPECT_EQ(parsed.type_of("f"), "int *(*)(int, char *)");
    EXPECT_EQ(parsed.type_of("g"), "int **");
    EXPECT_EQ(parsed.type_of("h"), "int [2][3]");
    EXPECT_EQ(parsed.type_of("i"), "unsigned long");
    EXPECT_EQ(parsed.type_of("j"), "const char *");
    EXPECT_EQ(parsed.type_of("k"), "char *const");
    EXPECT_EQ(parsed.type_of("m"), "int (*(*)(void))(char, ...)");
    EXPECT_TRUE(parsed.decl(11).type->resolve()->userland);
}

TEST(Declaration, ReadsScopesAndKeys)
{
    Parsed parsed("self int a[string, int]; this string b; uint64_t c[pid_t];");
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(parsed.decl(0).scope, Scope::Self);
    EXPECT_TRUE(parsed.decl(0).assoc);
    EXPECT_EQ(type_text(parsed.decl(0).keys.at(0)), "string");
    EXPECT_EQ(parsed.decl(1).scope, Scope::This);
    EXPECT_EQ(type_text(parsed.decl(2).keys.at(0)), "pid_t");
}

TEST(Declaration, TakesConstantExpressionsAsSizes)
{
    Parsed parsed("enum e { one = 1, two, eight = 1 << 3 }; inline int n = two * 3;"
                  "int a[n + eight]; char b[sizeof (int) * 2]; char c[SIGKILL];"
                  "struct s { int x; char y; }; char d[offsetof(struct s, y) + 1];");
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(parsed.type_of("a"), "int [14]");
    EXPECT_EQ(parsed.type_of("b"), "char [8]");
    EXPECT_EQ(parsed.type_of("c"), "char [9]");
    EXPECT_EQ(parsed.type_of("d"), "char [5]");
}

TEST(Declaration, KeepsTypesFromOneProgramToTheNext)
{
    Parsed parsed("typedef struct list { struct list *next; int v; } list_t;");
    ASSERT_FALSE(parsed.error) << parsed.message();
    parsed.run("list_t *head; BEGIN { trace(((list_t *)arg0)->next->v); }");
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(parsed.type_of("head"), "list_t *");
}

TEST(Declaration, CompletesATagThatWasNamedBefore)
{
    Parsed parsed("struct a; struct b { struct a *p; }; struct a { char c[12]; };");
    ASSERT_FALSE(parsed.error) << parsed.message();
    Member member;
    ASSERT_TRUE(parsed.types.lookup("struct b")->find_member("p", member));
    EXPECT_EQ(member.type->base->size, 12u);
}

TEST(Declaration, FindsMembersOfAnonymousStructs)
{
    Parsed parsed("struct s { int a; union { char b; struct { int c; int d; }; }; };");
    ASSERT_FALSE(parsed.error) << parsed.message();
    Member member;
    ASSERT_TRUE(parsed.types.lookup("struct s")->find_member("d", member));
    EXPECT_EQ(member.offset_bits, 64u);
    EXPECT_EQ(type_text(member.type), "int");
}

TEST(Declaration, LeavesPrototypesAndExternsToTheirOwners)
{
    Parsed parsed("extern int counter; int f(int, char *); BEGIN { }");
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(parsed.decl(0).kind, DeclKind::TypeOnly);
    EXPECT_EQ(parsed.decl(1).kind, DeclKind::TypeOnly);
}

TEST(Declaration, IsRefusedByTag)
{
    const std::pair<const char*, Tag> cases[] = {
        {"short char x;", Tag::DECL_CHARATTR},
        {"unsigned void *x;", Tag::DECL_VOIDATTR},
        {"unsigned float x;", Tag::DECL_SIGNINT},
        {"unsigned string x;", Tag::DECL_SIGNINT},
        {"long float x;", Tag::DECL_LONGINT},
        {"long struct s *x;", Tag::DECL_LONGINT},
        {"signed unsigned x;", Tag::DECL_COMBO},
        {"long long long x;", Tag::DECL_COMBO},
        {"int char x;", Tag::DECL_COMBO},
        {"typedef self int x;", Tag::DECL_CLASS},
        {"static int x;", Tag::DECL_BADCLASS},
        {"register int x;", Tag::DECL_BADCLASS},
        {"auto int x;", Tag::DECL_BADCLASS},
        {"int f(static int x);", Tag::DECL_PARMCLASS},
        {"int a[self int];", Tag::DECL_PARMCLASS},
        {"int f(x);", Tag::DECL_IDENT},
        {"int a[-1];", Tag::DECL_ARRSUB},
        {"int a[x];", Tag::DECL_ARRSUB},
        {"int a[0];", Tag::DECL_ARRSUB},
        {"int a[];", Tag::DECL_ARRNULL},
        {"int a[0x7fffffffff];", Tag::DECL_ARRBIG},
        {"int a[0x7fffffff];", Tag::DECL_ARRBIG},
        {"enum e { a, a };", Tag::DECL_IDRED},
        {"struct s { int a; char a; };", Tag::DECL_IDRED},
        {"int x; typedef int x;", Tag::DECL_IDRED},
        {"typedef int x; typedef char x;", Tag::DECL_TYPERED},
        {"struct s { int a; }; struct s { int b; };", Tag::DECL_TYPERED},
        {"struct s { struct s { int a; } b; };", Tag::DECL_TYPERED},
        {"typedef int string;", Tag::DECL_COMBO},
        {"int self;", Tag::DECL_USELESS},
        {"struct s { int self x; };", Tag::DECL_BADCLASS},
        {"struct s { int; };", Tag::DECL_MNAME},
        {"typedef struct { int a; } t; struct s { t; };", Tag::DECL_MNAME},
        {"int a`b;", Tag::DECL_SCOPE},
        {"struct s { int a : x; };", Tag::DECL_BFCONST},
        {"struct s { int a : 33; };", Tag::DECL_BFSIZE},
        {"struct s { int a : 0; };", Tag::DECL_BFCONST},
        {"struct s { char *a : 3; };", Tag::DECL_BFTYPE},
        {"enum e { a = x };", Tag::DECL_ENCONST},
        {"enum e { a = 0x7fffffff, b };", Tag::DECL_ENOFLOW},
        {"int;", Tag::DECL_USELESS},
        {"struct { int a; };", Tag::DECL_USELESS},
        {"this int a[int];", Tag::DECL_LOCASSC},
        {"void x;", Tag::DECL_VOIDOBJ},
        {"struct nosuch x;", Tag::DECL_INCOMPLETE},
        {"struct s { struct s a; };", Tag::DECL_INCOMPLETE},
        {"int a[int, ...];", Tag::DECL_PROTO_VARARGS},
        {"int a[void];", Tag::DECL_PROTO_TYPE},
        {"int f(void, int);", Tag::DECL_PROTO_VOID},
        {"int f(void x);", Tag::DECL_PROTO_NAME},
        {"int f(int a, int a);", Tag::DECL_PROTO_FORM},
        {"inline int f[int] = 1;", Tag::DECL_PROTO_NAME},
        {"int f(int a[int]);", Tag::DECL_PROTO_TYPE},
        {"int x = 1;", Tag::SYNTAX},
        {"int f(void) { }", Tag::SYNTAX},
    };
    for (auto [text, tag] : cases) {
        Parsed parsed(text);
        ASSERT_TRUE(parsed.error) << text;
        EXPECT_STREQ(tag_name(parsed.error->tag), tag_name(tag))
            << text << ": " << parsed.message();
        EXPECT_EQ(parsed.error->at.line, 1) << text;
    }
    EXPECT_EQ(tag_of("long long x; long double y; signed char z;"), Tag::UNKNOWN);
    EXPECT_EQ(tag_of("typedef int x; typedef int x;"), Tag::UNKNOWN);
}

} // namespace dt
