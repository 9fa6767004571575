// SPDX-License-Identifier: MIT
// Tests the parsing of dtrace(1)'s command line.
#include "arguments.hpp"

#include <gtest/gtest.h>

namespace {

Arguments parse(std::vector<std::string> words)
{
    words.insert(words.begin(), "dtrace");
    std::vector<char*> argv;
    for (std::string& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    return parse_arguments(static_cast<int>(words.size()), argv.data());
}

using Words = std::vector<std::string>;

TEST(Arguments, OperandsMayComeBeforeBetweenAndAfterFlags)
{
    Arguments args = parse({"one", "-q", "two", "-n", "BEGIN", "three"});
    EXPECT_EQ(args.wrong, "");
    EXPECT_EQ(args.operands, (Words{"one", "two", "three"}));
    ASSERT_EQ(args.pieces.size(), 1U);
    EXPECT_EQ(args.pieces[0].text, "BEGIN");
}

TEST(Arguments, AfterTwoDashesAllAreOperands)
{
    Arguments args = parse({"-n", "BEGIN", "--", "5", "-x", "--", "-q"});
    EXPECT_EQ(args.wrong, "");
    EXPECT_EQ(args.operands, (Words{"5", "-x", "--", "-q"}));
    EXPECT_FALSE(args.quiet);
}

TEST(Arguments, TwoDashesMayBeAFlagsValue)
{
    Arguments args = parse({"-s", "--", "-q", "x"});
    EXPECT_EQ(args.pieces[0].text, "--");
    EXPECT_TRUE(args.quiet);
    EXPECT_EQ(args.operands, Words{"x"});
}

TEST(Arguments, FlagsCombineAndTheLastTakesAValue)
{
    Arguments args = parse({"-Zqs", "script.d", "-xbufsize=4k", "-b8k", "operand"});
    EXPECT_EQ(args.wrong, "");
    EXPECT_TRUE(args.quiet);
    EXPECT_EQ(args.cflags & DTRACE_C_ZDEFS, unsigned{DTRACE_C_ZDEFS});
    EXPECT_EQ(args.pieces[0].text, "script.d");
    EXPECT_EQ(args.operands, Words{"operand"});
    ASSERT_EQ(args.options.size(), 3U);
    EXPECT_EQ(args.options[1], (std::pair<std::string, std::string>{"bufsize", "4k"}));
    EXPECT_EQ(args.options[2], (std::pair<std::string, std::string>{"bufsize", "8k"}));
}

TEST(Arguments, FlagsOfThePreprocessorAreOptions)
{
    Arguments args =
        parse({"-CH", "-DA=1", "-U", "B", "-Idir", "-Xs", "-Llib", "-s", "x"});
    EXPECT_EQ(args.wrong, "");
    EXPECT_EQ(args.cflags & DTRACE_C_CPP, unsigned{DTRACE_C_CPP});
    std::vector<std::pair<std::string, std::string>> expected{
        {"cpphdrs", ""},   {"define", "A=1"}, {"undef", "B"},
        {"incdir", "dir"}, {"stdc", "s"},     {"libdir", "lib"}};
    EXPECT_EQ(args.options, expected);
}

TEST(Arguments, TheDataModelIs64Bits)
{
    EXPECT_EQ(parse({"-64", "-n", "BEGIN"}).wrong, "");
    EXPECT_NE(parse({"-32", "-n", "BEGIN"}).unsupported.find("32-bit"),
              std::string::npos);
    EXPECT_NE(parse({"-6", "5", "-n", "BEGIN"}).wrong, "");
    EXPECT_NE(parse({"-33", "-n", "BEGIN"}).wrong, "");
}

TEST(Arguments, AProgramThatIsNotEnabledSaysSo)
{
    EXPECT_NE(parse({"-l"}).cflags & DTRACE_C_NOENABLE, 0U);
    EXPECT_NE(parse({"-e", "-n", "BEGIN"}).cflags & DTRACE_C_NOENABLE, 0U);
    EXPECT_EQ(parse({"-n", "BEGIN"}).cflags & DTRACE_C_NOENABLE, 0U);
}

TEST(Arguments, PiecesKeepTheOrderInWhichTheyStand)
{
    Arguments args = parse({"-P", "a", "-n", "b", "-f", "c", "-m", "d", "-i", "1"});
    std::string flags;
    for (const Piece& piece : args.pieces)
        flags += piece.flag;
    EXPECT_EQ(flags, "Pnfmi");
}

TEST(Arguments, PatchesAreOfRunningProcessesAndNeedNoProbes)
{
    Arguments args = parse({"--patches", "-p", "5", "-p", "6"});
    EXPECT_EQ(args.wrong, "");
    EXPECT_EQ(args.mode, Mode::Patches);
    EXPECT_EQ(args.targets.size(), 2U);
    EXPECT_NE(parse({"--patches"}).wrong, "");
    EXPECT_NE(parse({"--patches", "-c", "true"}).wrong, "");
    EXPECT_NE(parse({"--patches", "-p", "5", "-n", "BEGIN"}).wrong, "");
}

TEST(Arguments, MissingUnknownAndContradictoryFlagsAreReported)
{
    EXPECT_EQ(parse({}).wrong, "no probes specified");
    EXPECT_EQ(parse({"-e"}).wrong, ""); // -e does not need a program
    EXPECT_EQ(parse({"-n"}).wrong, "option requires an argument -- 'n'");
    EXPECT_EQ(parse({"-y"}).wrong, "invalid option -- 'y'");
    EXPECT_EQ(parse({"--nosuch"}).wrong, "unrecognized option '--nosuch'");
    EXPECT_NE(parse({"-l", "-V"}).wrong, "");
    EXPECT_EQ(parse({"-l"}).wrong, "");
    EXPECT_EQ(parse({"--help"}).wrong, "");
    EXPECT_NE(parse({"-h"}).wrong, ""); // -h needs a script with a provider
}

} // namespace
