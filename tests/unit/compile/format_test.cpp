// SPDX-License-Identifier: MIT
// Tests how formats are parsed, and which formats are refused.
#include "libdtrace/compile/format.hpp"

#include <gtest/gtest.h>

namespace dt {
namespace {

Conversion only(std::string_view text)
{
    std::optional<Format> format = parse_format(text);
    EXPECT_TRUE(format) << text;
    if (!format || format->conversions.size() != 1)
        return {};
    return format->conversions[0];
}

Tag refusal(std::string_view text)
{
    try {
        parse_format(text, Place{3, 4});
    } catch (const CompileError& error) {
        EXPECT_EQ(error.diagnostic.at.line, 3);
        return error.diagnostic.tag;
    }
    ADD_FAILURE() << text << " was accepted";
    return Tag::UNKNOWN;
}

TEST(Format, LiteralTextIsStoredBeforeItsConversionAndAtTheEnd)
{
    Format format = *parse_format("a%d 100%% b%sc");
    ASSERT_EQ(format.conversions.size(), 3u);
    EXPECT_EQ(format.conversions[0].literal, "a");
    EXPECT_EQ(format.conversions[0].name, "d");
    EXPECT_EQ(format.conversions[1].literal, " 100% b");
    EXPECT_EQ(format.conversions[1].name, "s");
    EXPECT_EQ(format.conversions[2].literal, "c");
    EXPECT_EQ(format.conversions[2].name, "");
}

TEST(Format, FlagsWidthAndPrecisionAreTakenApart)
{
    Conversion c = only("%#0- +'@12.34x");
    EXPECT_TRUE(c.alternate && c.left && c.space && c.plus && c.group);
    EXPECT_TRUE(c.aggregate);
    EXPECT_EQ(c.width, 12);
    EXPECT_EQ(c.precision, 34);
    EXPECT_EQ(c.name, "x");
}

TEST(Format, FlagsStandInAnyOrderAndTheLaterOfMinusAndZeroCounts)
{
    Conversion c = only("%12.34-@#x");
    EXPECT_TRUE(c.alternate && c.left && c.aggregate);
    EXPECT_EQ(c.width, 12);
    EXPECT_EQ(c.precision, 34);
    EXPECT_TRUE(only("%0-5d").left && !only("%0-5d").zero);
    EXPECT_TRUE(only("%-05d").zero && !only("%-05d").left);
}

TEST(Format, StarsAreDynamicWidthAndPrecision)
{
    Conversion c = only("%*.*s");
    EXPECT_TRUE(c.dynamic_width);
    EXPECT_TRUE(c.dynamic_precision);
    EXPECT_FALSE(only("%5s").dynamic_width);
}

TEST(Format, QuestionMarkIsTheWidthOfAPointer)
{
    EXPECT_TRUE(only("%?p").pointer_width);
    EXPECT_TRUE(only("%-?p").pointer_width);
}

TEST(Format, WidthsOfTenMillionWork)
{
    EXPECT_EQ(only("%10000000d").width, 10000000);
    EXPECT_EQ(refusal("%99999999999d"), Tag::SYNTAX);
}

TEST(Format, PointWithoutNumberIsPrecisionZero)
{
    EXPECT_EQ(only("%.d").precision, 0);
    EXPECT_EQ(only("%d").precision, -1);
}

TEST(Format, EveryRowOfTheTableParsesToItself)
{
#define X(text, takes, called) EXPECT_EQ(only("%" text).name, text);
    FORMAT_CONVERSIONS(X)
#undef X
}

TEST(Format, ConversionsThatDTraceDoesNotHaveAreSyntaxErrors)
{
    for (const char* text :
         {"%", "%5", "%1$d", "%*1$d", "%**d", "%.**d", "%1.2.3d", "%q", "%hhd", "%zd",
          "%ls", "%-%", "%5%", "%n", "%h", "%llld"})
        EXPECT_EQ(refusal(text), Tag::SYNTAX) << text;
}

TEST(Format, EmptyFormatHasATagOfItsOwn)
{
    EXPECT_EQ(refusal(""), Tag::PRINTF_FMT_EMPTY);
    EXPECT_FALSE(parse_format(""));
}

} // namespace
} // namespace dt
