// SPDX-License-Identifier: MIT
#include "tests/unit/compile/parse/support.hpp"

namespace dt {

TEST(Expression, FollowsCsPrecedence)
{
    EXPECT_EQ(shape_of("a + b * c - d"), "((a + (b * c)) - d)");
    EXPECT_EQ(shape_of("a = b ? c : d ? e : f"), "(a = (b ? c : (d ? e : f)))");
    EXPECT_EQ(shape_of("a | b ^ c & d == e < f << g"),
              "(a | (b ^ (c & (d == (e < (f << g))))))");
    EXPECT_EQ(shape_of("a = b += c"), "(a = (b += c))");
    EXPECT_EQ(shape_of("a, b, c"), "((a , b) , c)");
    EXPECT_EQ(shape_of("-a - -b"), "((neg a) - (neg b))");
    EXPECT_EQ(shape_of("!a->b.c++"), "(! (a->b.c++))");
    EXPECT_EQ(shape_of("*p++"), "(deref (p++))");
    EXPECT_EQ(shape_of("a / b / c"), "((a / b) / c)");
}

TEST(Expression, PutsLogicalXorBetweenAndAndOr)
{
    EXPECT_EQ(shape_of("a || b ^^ c && d"), "(a || (b ^^ (c && d)))");
}

TEST(Expression, ReadsVariablesOfEachScope)
{
    EXPECT_EQ(shape_of("self->a = this->b + c"), "(self->a = (this->b + c))");
    EXPECT_EQ(shape_of("self->a[1, \"x\"]++"), "(self->a[1, \"x\"]++)");
    EXPECT_EQ(shape_of("@[execname, ustack()] = count()"),
              "(@_[execname, ustack()] = count())");
    EXPECT_EQ(shape_of("@a = sum(x)"), "(@a = sum(x))");
    EXPECT_EQ(shape_of("a.out`counter + `jiffies"), "(a.out`counter + `jiffies)");
    EXPECT_EQ(shape_of("libc.so.6`environ"), "libc.so.6`environ");
    EXPECT_EQ(shape_of("ld-linux-x86-64.so.2`_r_debug"),
              "ld-linux-x86-64.so.2`_r_debug");
    EXPECT_EQ(shape_of("a-b`c"), "(a - b`c)");
    EXPECT_EQ(shape_of("a.b.c"), "a.b.c");
}

TEST(Expression, TakesDsWordsAsNamesOfMembers)
{
    EXPECT_EQ(shape_of("a->self.provider->string"), "a->self.provider->string");
    EXPECT_EQ(shape_of("x = a->translator"), "(x = a->translator)");
    EXPECT_EQ(Parsed("struct s { int probe, self; unsigned provider : 3, this[2];"
                     "           int string; char *stringof; }; struct s v;"
                     "BEGIN { x = offsetof(struct s, self); }")
                  .message(),
              "no error");
}

TEST(Expression, TellsCastsFromParentheses)
{
    EXPECT_EQ(shape_of("(int)x + (y)"), "(((int)x) + y)");
    EXPECT_EQ(shape_of("(struct foo *)arg0"), "((struct foo *)arg0)");
    EXPECT_EQ(shape_of("(uint64_t)-1"), "((uint64_t)(neg 1))");
    EXPECT_EQ(shape_of("(userland char *)arg1"), "((userland char *)arg1)");
    EXPECT_EQ(shape_of("sizeof (int) * 2"), "(sizeof(int) * 2)");
    EXPECT_EQ(shape_of("sizeof x"), "sizeof x");
    EXPECT_EQ(shape_of("stringof(x) == \"a\""), "(stringof x == \"a\")");
    EXPECT_EQ(shape_of("stringof p->q"), "stringof p->q");
    EXPECT_EQ(shape_of("xlate <psinfo_t *> (p)->pr_pid"),
              "xlate<psinfo_t *>(p)->pr_pid");
    EXPECT_EQ(shape_of("(int (*)(char *, int))x"), "((int (*)(char *, int))x)");
}

TEST(Expression, LetsAVariableHideATypesName)
{
    Parsed parsed("int u_char; BEGIN { x = (u_char) + 1; }");
    ASSERT_FALSE(parsed.error) << parsed.message();
    EXPECT_EQ(shape(parsed.expr()), "(x = (u_char + 1))");
}

TEST(Expression, GivesIntegersTheFirstTypeThatHoldsThem)
{
    const std::pair<const char*, const char*> cases[] = {
        {"1", "int"},
        {"2147483648", "long"},
        {"0x80000000", "unsigned int"},
        {"4294967295u", "unsigned int"},
        {"4294967296U", "unsigned long"},
        {"1l", "long"},
        {"1UL", "unsigned long"},
        {"1ll", "long long"},
        {"1ull", "unsigned long long"},
        {"0xffffffffffffffff", "unsigned long"},
        {"'a'", "int"},
    };
    for (auto [text, type] : cases) {
        Parsed parsed("BEGIN { " + std::string(text) + "; }");
        ASSERT_FALSE(parsed.error) << text << ": " << parsed.message();
        EXPECT_EQ(type_text(parsed.expr().type), type) << text;
    }
}

TEST(Expression, ReadsIntegersInThreeBases)
{
    EXPECT_EQ(shape_of("0x1F"), "31");
    EXPECT_EQ(shape_of("017"), "15");
    EXPECT_EQ(shape_of("0"), "0");
    EXPECT_EQ(shape_of("18446744073709551615"), "18446744073709551615");
}

TEST(Expression, PacksCharactersWithTheFirstOneHighest)
{
    EXPECT_EQ(shape_of("'a'"), "97");
    EXPECT_EQ(shape_of("'ab'"), "24930");
    EXPECT_EQ(shape_of("'\\n'"), "10");
    EXPECT_EQ(shape_of("'\\0'"), "0");
    EXPECT_EQ(shape_of("'\\x41'"), "65");
    EXPECT_EQ(shape_of("'\\q'"), std::to_string('\\' * 256 + 'q'));
    EXPECT_EQ(shape_of("'\"'"), "34");
}

TEST(Expression, ReadsEscapesInStrings)
{
    EXPECT_EQ(shape_of("\"a\\tb\\x41\\101\\\\\\q\""), "\"a\tbAA\\\\q\"");
    EXPECT_EQ(shape_of("\"a\\\nb\""), "\"ab\"");
}

TEST(Expression, ReadsFloatingPointConstants)
{
    for (const char* text : {"1.5", ".25", "1e3", "2.5e-3", "1.f"})
        EXPECT_EQ(shape_of(text).substr(0, 6), "float ") << text;
    Parsed parsed("BEGIN { 2.5e-3; }");
    EXPECT_DOUBLE_EQ(parsed.expr().float_value, 2.5e-3);
}

TEST(Expression, TakesTypesAsArguments)
{
    EXPECT_EQ(shape_of("f(struct foo *, 1)"), "f(struct foo *, 1)");
}

} // namespace dt
