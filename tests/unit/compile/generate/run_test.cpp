// SPDX-License-Identifier: MIT
// Runs generated DIF in the engine, and tests the values that it records.
#include "tests/unit/compile/generate/session.hpp"

#include <cstdint>

namespace dt::gen {
namespace {

std::string clause(const std::string& body)
{
    return "test:::p\n{\n\t" + body + "\n}\n";
}

// Executes some statements and returns the 64-bit value of an expression.
std::int64_t value(const std::string& expression, const std::string& before = "",
                   const std::string& declarations = "")
{
    Session session;
    auto values =
        session.run(declarations + "\n" +
                    clause(before + " trace((int64_t)(" + expression + "));"));
    return values.size() == 1 ? values[0].number() : INT64_MIN;
}

std::string text(const std::string& expression, const std::string& before = "",
                 const std::string& declarations = "")
{
    Session session;
    auto values = session.run(declarations + "\n" +
                              clause(before + " trace(" + expression + ");"));
    return values.size() == 1 ? values[0].text() : "<no record>";
}

// The compiler cannot fold the probe's arguments. arg0 is 11 and arg1 is 22.
TEST(Run, Arithmetic)
{
    EXPECT_EQ(value("arg0 + 1"), 12);
    EXPECT_EQ(value("arg0 - arg1"), -11);
    EXPECT_EQ(value("arg0 * arg1"), 242);
    EXPECT_EQ(value("arg1 / arg0"), 2);
    EXPECT_EQ(value("(arg0 - arg1) / 2"), -5);
    EXPECT_EQ(value("(arg0 - arg1) % 4"), -3);
    EXPECT_EQ(value("-arg0"), -11);
    EXPECT_EQ(value("~arg0"), ~11);
    EXPECT_EQ(value("arg0 << 3"), 88);
    EXPECT_EQ(value("(arg0 - arg1) >> 1"), -6);
    EXPECT_EQ(value("(uint64_t)(arg0 - arg1) >> 60"), 15);
    EXPECT_EQ(value("arg0 & 6"), 2);
    EXPECT_EQ(value("arg0 | 6"), 15);
    EXPECT_EQ(value("arg0 ^ 6"), 13);
    EXPECT_EQ(value("(arg0 - arg1) / (uint64_t)2"), INT64_MAX - 5);
}

TEST(Run, Comparisons)
{
    EXPECT_EQ(value("arg0 < arg1"), 1);
    EXPECT_EQ(value("arg0 > arg1"), 0);
    EXPECT_EQ(value("arg0 <= 11"), 1);
    EXPECT_EQ(value("arg0 >= 12"), 0);
    EXPECT_EQ(value("arg0 == 11"), 1);
    EXPECT_EQ(value("arg0 != 11"), 0);
    EXPECT_EQ(value("arg0 - arg1 < 0"), 1);
    EXPECT_EQ(value("(uint64_t)(arg0 - arg1) < (uint64_t)arg0"), 0);
}

TEST(Run, Logic)
{
    EXPECT_EQ(value("arg0 && arg1"), 1);
    EXPECT_EQ(value("arg0 && 0"), 0);
    EXPECT_EQ(value("!arg0 || arg1"), 1);
    EXPECT_EQ(value("!arg0 || !arg1"), 0);
    EXPECT_EQ(value("arg0 ^^ arg1"), 0);
    EXPECT_EQ(value("arg0 ^^ !arg1"), 1);
    EXPECT_EQ(value("!arg0"), 0);
    EXPECT_EQ(value("!!arg0"), 1);
    EXPECT_EQ(value("arg0 == 11 ? arg1 : arg0"), 22);
    EXPECT_EQ(value("arg0 == 12 ? arg1 : arg0 + 5"), 16);
    EXPECT_EQ(value("arg0 ? arg1 ? 5 : 6 : 7"), 5);
}

TEST(Run, ShortCircuitLeavesTheRightSideAlone)
{
    EXPECT_EQ(value("x", "x = 1; this->a = arg0 || x++; this->b = !arg0 && x++;"), 1);
    EXPECT_EQ(value("x", "x = 1; this->a = arg0 ^^ x++;"), 2);
}

TEST(Run, StringComparisons)
{
    EXPECT_EQ(value("execname == \"csh\""), 1);
    EXPECT_EQ(value("execname != \"csh\""), 0);
    EXPECT_EQ(value("execname < \"ksh\""), 1);
    EXPECT_EQ(value("execname <= \"bsh\""), 0);
    EXPECT_EQ(value("execname > \"cs\""), 1);
    EXPECT_EQ(value("execname >= \"csh\""), 1);
}

TEST(Run, AssignmentNarrowsToTheVariablesType)
{
    EXPECT_EQ(value("x", "x = arg0 * 0x100000000;", "int x;"), 0);
    EXPECT_EQ(value("x", "x = arg0 * 0x10000001;", "int x;"), int(11u * 0x10000001u));
    EXPECT_EQ(value("x", "x = arg0 + 250;", "uint8_t x;"), 5);
    EXPECT_EQ(value("x", "x = arg0 + 250;", "int8_t x;"), 5);
    EXPECT_EQ(value("x", "x = arg0 + 180;", "char x;"), -65);
    EXPECT_EQ(value("x", "x = -arg0;", "uint16_t x;"), 65525);
    EXPECT_EQ(value("x", "x = -1;", "uint32_t x;"), 0xffffffffll);
    EXPECT_EQ(value("x", "x = 250; x += arg0;", "uint8_t x;"), 5);
    EXPECT_EQ(value("x", "x = 127; x++;", "int8_t x;"), -128);
    EXPECT_EQ(value("x", "x = 0; --x;", "uint16_t x;"), 65535);
}

TEST(Run, CastsNarrow)
{
    EXPECT_EQ(value("(int8_t)(arg0 + 245)"), 0);
    EXPECT_EQ(value("(int8_t)(arg0 + 180)"), -65);
    EXPECT_EQ(value("(uint8_t)(-arg0)"), 245);
    EXPECT_EQ(value("(uint32_t)(-arg0)"), 0xfffffff5ll);
    EXPECT_EQ(value("(int)(arg0 << 32)"), 0);
}

TEST(Run, StepsAndCompoundAssignments)
{
    EXPECT_EQ(value("x++ * 100 + x", "x = arg0;"), 1112);
    EXPECT_EQ(value("++x * 100 + x", "x = arg0;"), 1212);
    EXPECT_EQ(value("x-- * 100 + x", "self->x = arg0; x = self->x;"), 1110);
    EXPECT_EQ(value("x", "x = arg0; x += 4; x *= 2; x -= 6; x /= 3;"), 8);
    EXPECT_EQ(
        value("x", "x = arg0; x <<= 4; x |= 1; x ^= 3; x &= 0xfe; x >>= 1; x %= 50;"),
        (((((11 << 4) | 1) ^ 3) & 0xfe) >> 1) % 50);
    EXPECT_EQ(value("self->x", "self->x = 5; self->x += arg0;"), 16);
    EXPECT_EQ(value("this->x", "this->x = 5; this->x -= arg0;"), -6);
}

TEST(Run, AssociativeArrays)
{
    EXPECT_EQ(value("a[1, \"x\"]", "a[1, \"x\"] = arg0; a[1, \"y\"] = arg1;"), 11);
    EXPECT_EQ(value("a[3]", "a[2] = arg0;"), 0);
    EXPECT_EQ(value("a[2]", "a[2] = arg0; a[2] += 4; a[2]++;"), 16);
    EXPECT_EQ(value("a[2]", "a[2] = arg0; a[2] = 0;"), 0);
    EXPECT_EQ(value("self->a[\"k\"]", "self->a[\"k\"] = arg1; self->a[\"k\"]--;"), 21);
    EXPECT_EQ(value("i * 100 + a[0]", "a[0] = 1; i = 0; a[i++] += arg0;"), 112);
    EXPECT_EQ(value("a[a[1]]", "a[1] = 2; a[2] = arg0;"), 11);
    EXPECT_EQ(value("a[1,2,3,4,5,6,7,arg0]", "a[1,2,3,4,5,6,7,11] = arg1;"), 22);
    EXPECT_EQ(text("a[5]", "a[5] = \"five\";"), "five");
    EXPECT_EQ(value("a[(uint32_t)(0 - 1)]", "a[(int)0 - 1] = arg0;"), 11);
    EXPECT_EQ(value("a[arg0 << 32]", "a[0] = arg0;"), 0);
    EXPECT_EQ(value("a[strjoin(\"x\", execname), strlen(execname)]",
                    "a[\"xcsh\", 3] = arg0;"),
              11);
}

TEST(Run, Strings)
{
    EXPECT_EQ(text("execname"), "csh");
    EXPECT_EQ(text("strjoin(execname, \"-x\")"), "csh-x");
    EXPECT_EQ(text("s", "s = strjoin(\"a\", strjoin(\"b\", \"c\"));"), "abc");
    EXPECT_EQ(text("self->s", "self->s = \"tls\";"), "tls");
    EXPECT_EQ(text("this->s", "this->s = \"local\";"), "local");
    EXPECT_EQ(text("arg0 == 11 ? \"yes\" : \"no\""), "yes");
    EXPECT_EQ(value("strlen(strjoin(execname, execname))"), 6);
    EXPECT_EQ(text("substr(\"hello\", 1, 3)"), "ell");
    EXPECT_EQ(value("index(\"hello\", \"l\")"), 2);
    EXPECT_EQ(value("index(\"hello\", \"z\")"), -1);
    EXPECT_EQ(value("\"hello\"[1]"), 'e');
}

struct Inner {
    short s;
    unsigned char c;
};
struct Shape {
    int i;
    unsigned int low : 3;
    unsigned int mid : 7;
    int high : 5;
    Inner inner;
    long long ll;
    int array[4];
    char name[16];
    const Shape* next;
};
const char run_declarations[] = "struct inner { short s; unsigned char c; };\n"
                                "struct shape { int i; unsigned int low : 3;\n"
                                "  unsigned int mid : 7; int high : 5;\n"
                                "  struct inner inner; long long ll; int array[4];\n"
                                "  char name[16]; struct shape *next; };\n";
Shape other = {-7, 1, 2, 3, {4, 5}, 6, {7, 8, 9, 10}, "other", nullptr};
Shape shape = {-5, 6, 100, -3, {-300, 200}, 1ll << 40, {1, -2, 3, -4}, "shape", &other};

std::int64_t of_shape(const std::string& expression, const std::string& before = "")
{
    Session session;
    EXPECT_TRUE(session.load(std::string(run_declarations) +
                             clause("this->p = (struct shape *)arg0; " + before +
                                    " trace((int64_t)(" + expression + "));")));
    session.fire({reinterpret_cast<dt_u64>(&shape), 2});
    auto made = session.records();
    EXPECT_EQ(made.size(), 1u) << expression;
    EXPECT_TRUE(made.empty() || made[0].fault == 0)
        << expression << session.disassembly();
    return made.empty() || made[0].values.empty() ? INT64_MIN
                                                  : made[0].values[0].number();
}

TEST(Run, ReadsStructuresOfTheTarget)
{
    EXPECT_EQ(of_shape("this->p->i"), -5);
    EXPECT_EQ(of_shape("this->p->low"), 6);
    EXPECT_EQ(of_shape("this->p->mid"), 100);
    EXPECT_EQ(of_shape("this->p->high"), -3);
    EXPECT_EQ(of_shape("this->p->inner.s"), -300);
    EXPECT_EQ(of_shape("this->p->inner.c"), 200);
    EXPECT_EQ(of_shape("this->p->ll"), 1ll << 40);
    EXPECT_EQ(of_shape("this->p->array[1]"), -2);
    EXPECT_EQ(of_shape("this->p->array[arg1 + 1]"), -4);
    EXPECT_EQ(of_shape("this->p->next->array[arg1]"), 9);
    EXPECT_EQ(of_shape("(*this->p->next).i"), -7);
    EXPECT_EQ(of_shape("this->p->name[arg1]"), 'a');
    EXPECT_EQ(of_shape("*(&this->p->array[3] - 1)"), 3);
    EXPECT_EQ(of_shape("&this->p->array[3] - &this->p->array[1]"), 2);
    EXPECT_EQ(of_shape("(char *)(this->p + 1) - (char *)this->p"), sizeof(Shape));
    EXPECT_EQ(of_shape("stringof(this->p->name) == \"shape\""), 1);
    EXPECT_EQ(of_shape("strlen(this->p->next->name)"), 5);
}

TEST(Run, WritesStructuresOfItsOwn)
{
    EXPECT_EQ(of_shape("s.i", "s = *this->p; s.i += 6;"), 1);
    EXPECT_EQ(of_shape("s.low * 10000 + s.mid * 10 + (s.high == -3)",
                       "s = *this->p; s.mid = 77; s.low++;"),
              70771);
    EXPECT_EQ(of_shape("s.high", "s = *this->p; s.high = 15; s.high++;"), -16);
    EXPECT_EQ(
        of_shape("s.array[1] * s.array[arg1]", "s = *this->p; s.array[arg1] = 9;"),
        -18);
    EXPECT_EQ(of_shape("s.inner.s", "s = *this->p; s.inner = s.next->inner;"), 4);
    EXPECT_EQ(of_shape("s.name[1] * 1000 + s.name[9]",
                       "s = *this->p; s.name = strjoin(\"a\", \"b\");"),
              'b' * 1000);
}

TEST(Run, RegistersOfTheTargetAreAnArray)
{
    EXPECT_EQ(value("uregs[arg0]"), 1011);
}

TEST(Run, AFaultEndsTheClause)
{
    Session session;
    ASSERT_TRUE(session.load(clause("x = 1; trace(1 / (arg0 - 11)); x = 2;") +
                             clause("trace(x);")));
    session.fire({11});
    auto made = session.records();
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(made[0].fault, 1000000u + DTRACEFLT_DIVZERO);
    EXPECT_EQ(made[1].values.at(0).number(), 1);
}

TEST(Run, APredicateDecides)
{
    Session session;
    ASSERT_TRUE(
        session.load("test:::p /arg0 == 11 && execname == \"csh\"/ { trace(1); }\n"
                     "test:::p /arg0 == 12/ { trace(2); }\n"
                     "test:::p /arg0/ { trace(3); }\n"));
    session.fire({11});
    auto made = session.records();
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(made[0].values.at(0).number(), 1);
    EXPECT_EQ(made[1].values.at(0).number(), 3);
}

TEST(Run, PrintfRecordsItsValues)
{
    Session session;
    auto values = session.run(clause("printf(\"%d %s %x\", arg0, execname, arg1);"));
    ASSERT_EQ(values.size(), 3u);
    EXPECT_EQ(values[0].number(), 11);
    EXPECT_EQ(values[1].text(), "csh");
    EXPECT_EQ(values[2].number(), 22);
}

TEST(Run, TheEngineTakesEveryAction)
{
    const char* const bodies[] = {
        "trace(\"x\"); print(arg0); exit(3);",
        "printf(\"plain\"); printf(\"%d\", pid); trace((char)arg0);",
        "@a = count(); printa(@a); printa(\"%@d\", @a); clear(@a); trunc(@a);"
        " trunc(@a, 5); normalize(@a, 7); denormalize(@a);",
        "@k[1] = sum(arg0); @l[1] = avg(arg0); printa(\"%d %@d %@d\", @k, @l);",
        "setopt(\"quiet\"); setopt(\"switchrate\", \"5hz\"); ftruncate();",
        "tracemem(arg0, 64); tracemem(arg0, 64, arg1);",
        "ustack(); ustack(3); ustack(3, 100); jstack(); usym(arg0); ufunc(arg0);"
        " umod(arg0); uaddr(arg0); sym(arg0); mod(arg0); func(arg0);",
        "@[ustack(4), usym(arg0), umod(arg0), uaddr(arg0), execname] = min(arg1);",
        "@x = max(arg0); @y = stddev(arg0); @z = lquantize(arg0, 0, 100, 10, arg1);"
        " @w = llquantize(arg0, 10, 0, 6, 20); @v = quantize(arg0, -1);",
        "self->s = speculation(); speculate(self->s); trace(1);",
        "commit(self->s);",
        "discard(self->s);",
    };
    Session session;
    for (const char* body : bodies)
        EXPECT_TRUE(session.load(clause(body)));
    EXPECT_TRUE(session.load("test:::p"));
}

TEST(Run, AggregationsKeepKeysAndValues)
{
    Session session;
    ASSERT_TRUE(session.load(clause("@a[execname, arg0] = sum(arg1); @b = count();"
                                    " @c = quantize(arg0, 3);")));
    session.fire({11, 22});
    session.fire({11, 20});
    std::string buffer(4 << 20, '\0');
    dt_s64 n = dt_drain_agg(session.arena(), 0, session.host().owner, buffer.data(),
                            buffer.size(), nullptr, nullptr);
    int n_entries = 0;
    for (dt_s64 at = 0; at < n;) {
        dt_aggent entry;
        std::memcpy(&entry, buffer.data() + at, sizeof entry);
        ASSERT_GT(entry.bytes, 0u);
        dt_u64 first;
        const char* values = buffer.data() + at + sizeof entry + entry.key_bytes;
        std::memcpy(&first, values, sizeof first);
        for (const AggregationInfo& info : session.program.aggregations) {
            if (info.id != entry.aggvar)
                continue;
            n_entries++;
            if (info.name == "a") {
                EXPECT_EQ(first, 42u);
                EXPECT_STREQ(buffer.data() + at + sizeof entry, "csh");
            } else if (info.name == "b") {
                EXPECT_EQ(first, 2u);
            } else {
                ASSERT_EQ(entry.value_bytes, sizeof(dt_aggpoint));
                dt_aggpoint bucket;
                std::memcpy(&bucket, values, sizeof bucket);
                EXPECT_EQ(bucket.word, DTRACE_QUANTIZE_ZEROBUCKET + 4u);
                EXPECT_EQ(bucket.count, 6u);
            }
        }
        at += entry.bytes;
    }
    EXPECT_EQ(n_entries, 3);
}

TEST(Run, TheDisassemblyIsTheReferences)
{
    Session session;
    ASSERT_TRUE(session.load("test:::p /execname == \"csh\"/ { trace(arg0); }"));
    std::string text = session.disassembly();
    std::string expected =
        " returns D type (integer) (size 4)\n"
        "OFF OPCODE      INSTRUCTION\n"
        "00: 29011801    ldgs DT_VAR(280), %r1\t\t! DT_VAR(280) = \"execname\"\n"
        "01: 26000102    sets DT_STRING[1], %r2\t\t! \"csh\"\n"
        "02: 27010200    scmp %r1, %r2\n"
        "03: 12000006    be   6\n"
        "04: 0e000001    mov  %r0, %r1\n"
        "05: 11000007    ba   7\n"
        "06: 25000001    setx DT_INTEGER[0], %r1\t\t! 0x1\n"
        "07: 23000001    ret  %r1\n"
        "\n"
        "NAME             ID   KND SCP FLAG TYPE\n"
        "execname         118  scl glb r    string (unknown) by ref (size 256)\n";
    EXPECT_NE(text.find(expected), std::string::npos) << text;
    expected = " returns D type (integer) (size 8)\n"
               "OFF OPCODE      INSTRUCTION\n"
               "00: 29010601    ldgs DT_VAR(262), %r1\t\t! DT_VAR(262) = \"arg0\"\n"
               "01: 23000001    ret  %r1\n"
               "\n"
               "NAME             ID   KND SCP FLAG TYPE\n"
               "arg0             106  scl glb r    D type (integer) (size 8)\n";
    EXPECT_NE(text.find(expected), std::string::npos) << text;
}

} // namespace
} // namespace dt::gen
