// SPDX-License-Identifier: MIT
#include "process/maps.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <unistd.h>

using namespace dt;

TEST(ProcessMaps, ReadsEveryFieldOfALine)
{
    auto maps = ProcessMaps::parse(
        "7f0000001000-7f0000003000 r-xp 00026000 fe:01 1234567                    "
        "/usr/lib/libc.so.6\n");
    ASSERT_TRUE(maps) << maps.error().text;
    ASSERT_EQ(maps->all().size(), 1U);
    const Mapping& m = maps->all()[0];
    EXPECT_EQ(m.begin.value, 0x7f0000001000U);
    EXPECT_EQ(m.end.value, 0x7f0000003000U);
    EXPECT_EQ(m.offset, 0x26000U);
    EXPECT_EQ(m.file, (FileId{0xfe, 1, 1234567}));
    EXPECT_TRUE(m.readable && m.executable && !m.writable && !m.shared && !m.deleted);
    EXPECT_EQ(m.path, "/usr/lib/libc.so.6");
}

TEST(ProcessMaps, TakesNamesWithBlanksNewlinesAndMarks)
{
    auto maps =
        ProcessMaps::parse("1000-2000 r--p 00000000 00:01 5   /a b (x)/c\\012d\n"
                           "2000-3000 r-xs 00000000 00:01 6   /gone (deleted)\n"
                           "3000-4000 rw-p 00000000 00:00 0 \n"
                           "4000-5000 r-xp 00000000 00:00 0   [vdso]");
    ASSERT_TRUE(maps) << maps.error().text;
    ASSERT_EQ(maps->all().size(), 4U);
    EXPECT_EQ(maps->all()[0].path, "/a b (x)/c\nd");
    EXPECT_EQ(maps->all()[1].path, "/gone");
    EXPECT_TRUE(maps->all()[1].deleted);
    EXPECT_TRUE(maps->all()[1].shared);
    EXPECT_EQ(maps->all()[2].path, "");
    EXPECT_FALSE(maps->all()[2].is_file());
    EXPECT_EQ(maps->all()[3].path, "[vdso]");
}

TEST(ProcessMaps, NamesTheLineThatIsNone)
{
    for (const char* bad :
         {"x", "1000-2000", "1000-2000 rwxp", "2000-1000 r--p 0 0:0 0",
          "1000-2000 r?-p 0 0:0 0", "1000-2000 r--p g 0:0 0"}) {
        auto maps = ProcessMaps::parse(std::string("0-1 r--p 0 0:0 0\n") + bad);
        ASSERT_FALSE(maps) << bad;
        EXPECT_EQ(maps.error().code, Code::corrupt);
        EXPECT_NE(maps.error().text.find("line 2"), std::string::npos);
    }
}

TEST(ProcessMaps, FindsTheMappingOfAnAddressAmongMany)
{
    std::string text;
    for (unsigned i = 0; i < 65000; i++) {
        char line[64];
        std::snprintf(line, sizeof(line), "%x000-%x000 rw-p 00000000 00:00 0\n",
                      2 * i + 16, 2 * i + 17);
        text += line;
    }
    auto maps = ProcessMaps::parse(text);
    ASSERT_TRUE(maps);
    EXPECT_EQ(maps->all().size(), 65000U);
    EXPECT_EQ(maps->at({0x10fff}), &maps->all()[0]);
    EXPECT_EQ(maps->at({0x11000}), nullptr);
    EXPECT_EQ(maps->at({0x12000}), &maps->all()[1]);
    EXPECT_EQ(maps->at({0}), nullptr);
}

TEST(ProcessMaps, ReadsThisProcessAndRefusesOneThatIsNot)
{
    auto maps = ProcessMaps::read(::getpid());
    ASSERT_TRUE(maps) << maps.error().text;
    int here = 0;
    ASSERT_TRUE(maps->at({reinterpret_cast<std::uint64_t>(&here)}));
    EXPECT_EQ(maps->at({reinterpret_cast<std::uint64_t>(&here)})->path, "[stack]");
    auto none = ProcessMaps::read(0x7ffffffe);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::gone);
}
