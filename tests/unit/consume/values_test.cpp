// SPDX-License-Identifier: MIT
// Tests the exact output of trace(), printf() and print(), and flowindent's
// indentation.
#include "session.hpp"

#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>

using namespace dt;

TEST(Trace, PrintsAStringInAColumn)
{
    Session s;
    std::uint32_t epid = s.clause({{DTRACEACT_DIFEXPR, 256, s.types.string_type()}});
    s.record(epid, field("Hello World!", 256));
    EXPECT_EQ(s.drain(), "  Hello World!                     ");
}

TEST(Trace, PrintsIntegersSignedInColumnsBySize)
{
    Session s;
    std::uint32_t epid = s.clause({{DTRACEACT_DIFEXPR, 8, s.types.lookup("uint64_t")},
                                   {DTRACEACT_DIFEXPR, 4, s.types.lookup("int")},
                                   {DTRACEACT_DIFEXPR, 2, s.types.lookup("short")},
                                   {DTRACEACT_DIFEXPR, 1, s.types.lookup("char")}});
    s.record(epid, bytes_of<std::int64_t>(-1) + bytes_of<std::int32_t>(-42) +
                       bytes_of<std::int16_t>(7) + bytes_of<std::int8_t>(-8));
    EXPECT_EQ(s.drain(), "               -1      -42     7  -8");
}

TEST(Trace, QuietPrintsTheDataAlone)
{
    Session s;
    std::uint32_t epid = s.clause({{DTRACEACT_DIFEXPR, 16, s.types.string_type()},
                                   {DTRACEACT_DIFEXPR, 4, s.types.lookup("int")}});
    s.consumer().display().quiet = true;
    s.record(epid, field("abc", 16) + bytes_of<std::int32_t>(5));
    EXPECT_EQ(s.drain(), "abc5");
}

TEST(Trace, DumpsBytesThatAreNotText)
{
    Session s;
    const Type* type = s.types.array_of(s.types.lookup("char"), 18);
    std::uint32_t epid = s.clause({{DTRACEACT_DIFEXPR, 18, type}});
    s.record(epid, field("tcsh\x01", 17) + "z");
    EXPECT_EQ(s.drain(),
              "\n"
              "             0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f  "
              "0123456789abcdef\n"
              "         0: 74 63 73 68 01 00 00 00 00 00 00 00 00 00 00 00  "
              "tcsh............\n"
              "        10: 00 7a                                            .z\n");
}

TEST(Trace, PrintsBytesThatAreTextAsTextUnlessRawbytes)
{
    Session s;
    const Type* type = s.types.array_of(s.types.lookup("char"), 5);
    std::uint32_t epid = s.clause({{DTRACEACT_DIFEXPR, 5, type}});
    s.record(epid, field("abc", 5));
    s.consumer().display().quiet = true;
    EXPECT_EQ(s.drain(), "abc");
    s.consumer().display().rawbytes = true;
    s.record(epid, field("abc", 5));
    EXPECT_NE(s.drain().find("61 62 63 00 00"), std::string::npos);
}

TEST(Tracemem, DumpsAsMuchAsItsThirdArgumentSays)
{
    Session s;
    std::uint32_t epid = s.clause({{DTRACEACT_TRACEMEM, 8, nullptr, "", 2},
                                   {DTRACEACT_TRACEMEM_DYNSIZE, 8, nullptr}});
    s.consumer().display().quiet = true;
    for (std::int64_t n : {2, 0, -1, 9})
        s.record(epid, std::string("\1\2\3\4\5\6\7\10") + bytes_of(n));
    std::string text = s.drain();
    auto count = [&](const char* what) {
        int n = 0;
        for (std::size_t at = 0; (at = text.find(what, at)) != text.npos; at++)
            n++;
        return n;
    };
    EXPECT_EQ(count(" 01 02"), 3);
    EXPECT_EQ(count(" 01 02 03 04 05 06 07 08"), 2);
}

TEST(Flowindent, FollowsEntriesAndReturns)
{
    Session s;
    std::uint32_t outer = s.clause({}, "pid1", "a", "outer", "entry");
    std::uint32_t twice = s.clause({}, "pid1", "a", "outer", "entry");
    std::uint32_t middle = s.clause({}, "pid1", "a", "outer", "10");
    std::uint32_t call = s.clause({}, "syscall", "", "read", "entry");
    std::uint32_t back = s.clause({}, "syscall", "", "read", "return");
    std::uint32_t leave = s.clause({}, "pid1", "a", "outer", "return");
    s.consumer().display().flowindent = true;
    std::uint64_t time = 1;
    for (std::uint32_t epid : {outer, twice, middle, call, back, leave})
        s.record(epid, "", time++);
    FlowLines lines;
    s.drain(DrainKind::Final, &lines);
    EXPECT_EQ(lines.text, " -> outer\n"
                          "  | outer:entry\n"
                          "  | outer:10\n"
                          "   => read\n"
                          "   <= read\n"
                          " <- outer\n");
}

TEST(Printf, PrintsIntegersUnderFlagsWidthAndPrecision)
{
    Session s;
    const Type* i = s.types.lookup("int");
    const Type* u = s.types.lookup("unsigned int");
    std::uint32_t epid =
        s.printf("[%d|%5d|%-5d|%05d|%+d|% d|%.3d|%x|%#x|%X|%o|%#o|%u|%'d|%d]",
                 {i, i, i, i, i, i, i, u, u, u, u, u, u, i, u});
    std::string values;
    for (int v : {-7, 42, 42, -42, 42, 42, 7, 255, 255, 255, 8, 8, -1, 1234567, -1})
        values += bytes_of<std::int32_t>(v);
    s.record(epid, values);
    s.consumer().display().quiet = true;
    EXPECT_EQ(s.drain(),
              "[-7|   42|42   |-0042|+42| 42|007|ff|0xff|FF|10|010|4294967295|"
              "1,234,567|4294967295]");
}

TEST(Printf, PrintsTextCharactersAndAddresses)
{
    Session s;
    const Type* str = s.types.string_type();
    const Type* c = s.types.lookup("char");
    const Type* p = s.types.pointer_to(s.types.void_type());
    std::uint32_t epid = s.printf("%s|%6s|%-6s|%.2s|%S|%c|%C|%p|%?p|%a",
                                  {str, str, str, str, str, c, c, p, p, p});
    std::string values;
    std::uint32_t bytes = static_cast<std::uint32_t>(str->size);
    for (const char* text : {"one", "two", "three", "four", "a\n\"b"})
        values += field(text, bytes);
    values += std::string("x\n");
    values.resize(DT_ALIGN(values.size(), std::size_t{8}), '\0');
    values += words(0x1000, 0xbeef, 0x20);
    s.record(epid, values);
    s.consumer().display().quiet = true;
    EXPECT_EQ(s.drain(),
              "one|   two|three |fo|a\\n\\\"b|x|\\n|1000|            beef|0x20");
}

TEST(Printf, TakesWidthAndPrecisionFromTheRecordAndClampsThem)
{
    Session s;
    const Type* i = s.types.lookup("int");
    std::uint32_t epid = s.printf("[%*d|%.*d|%*d]", {i, i, i, i, i, i});
    s.consumer().display().quiet = true;
    std::string values;
    for (int v : {6, 42, 4, 7, -4, 1})
        values += bytes_of<std::int32_t>(v);
    s.record(epid, values);
    EXPECT_EQ(s.drain(), "[    42|0007|1   ]");
    values.clear();
    for (int v : {0x7fffffff, 42, 0x7fffffff, 7, static_cast<int>(0x80000000), 1})
        values += bytes_of<std::int32_t>(v);
    s.record(epid, values);
    EXPECT_LT(s.drain().size(), std::size_t{4} << 24);
}

TEST(Printf, PrintsAWidthOfTenMillion)
{
    Session s;
    std::uint32_t epid = s.printf("%10000000d", {s.types.lookup("int")});
    s.record(epid, bytes_of<std::int32_t>(1));
    s.consumer().display().quiet = true;
    EXPECT_EQ(s.drain().size(), 10000000u);
}

TEST(Printf, PrintsAFormatWithoutValues)
{
    Session s;
    std::uint32_t epid = s.printf("hi 100%%\n", {});
    s.record(epid, "");
    EXPECT_EQ(s.drain(), "hi 100%\n");
}

TEST(Printf, PrintsTimesInTheZoneOfTZ)
{
    setenv("TZ", "UTC", 1);
    tzset();
    Session s;
    const Type* t = s.types.lookup("int64_t");
    std::uint32_t epid = s.printf("%Y|%T", {t, t});
    s.record(epid, words(123700000000000000ull, 1795209911000000000ull));
    s.consumer().display().quiet = true;
    EXPECT_EQ(s.drain(), "1973 Dec  2 17:06:40|Fri, 20 Nov 2026 21:25:11 UTC");
}

TEST(Printf, PrintsFloatsByTheirSize)
{
    Session s;
    std::uint32_t epid =
        s.printf("%.2f|%g|%8.1e", {s.types.lookup("double"), s.types.lookup("double"),
                                   s.types.lookup("float")});
    s.record(epid, bytes_of(3.14159) + bytes_of(0.5) + bytes_of(12.0f));
    s.consumer().display().quiet = true;
    EXPECT_EQ(s.drain(), "3.14|0.5| 1.2e+01");
}

TEST(Print, ShowsAStructWithItsMembers)
{
    Session s;
    Type* point = s.types.declare(TypeKind::Struct, "point");
    ASSERT_NE(point, nullptr);
    point->size = 16;
    point->members = {{"x", s.types.lookup("int"), 0, 0},
                      {"flag", s.types.lookup("unsigned int"), 32, 3},
                      {"tag", s.types.array_of(s.types.lookup("char"), 8), 64, 0}};
    Entry entry{DTRACEACT_DIFEXPR, 16, point};
    entry.is_print = true;
    std::uint32_t epid = s.clause({entry});
    s.record(epid,
             bytes_of<std::int32_t>(18) + bytes_of<std::int32_t>(0xd) + field("ab", 8));
    s.consumer().display().quiet = true;
    EXPECT_EQ(s.drain(), "struct point {\n"
                         "    int x = 0x12\n"
                         "    unsigned int flag :3 = 0x5\n"
                         "    char [8] tag = [ \"ab\" ]\n"
                         "}");
}
