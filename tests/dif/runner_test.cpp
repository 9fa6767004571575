// SPDX-License-Identifier: MIT
// Runs tests/dif/*.dif. Each row of the engine's tables must have at least one case.
// Each reason for which the verifier refuses a program must also have a case.
#include "tests/dif/runner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "dif/engine.h"
#include "tests/dif/dif_text.hpp"

using namespace dif_test;

namespace {

std::vector<Case> all_cases()
{
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(DIF_CASES_DIR)) {
        if (entry.path().extension() == ".dif")
            files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    std::vector<Case> out;
    for (const std::string& file : files) {
        for (Case& c : read_cases(file))
            out.push_back(std::move(c));
    }
    return out;
}

// Calls visit() for each instruction of some cases. If `refused` is true, these are the
// cases that the verifier must refuse. Otherwise, these are all other cases.
template <typename Visit> void each_instruction(bool refused, Visit visit)
{
    for (const Case& c : all_cases()) {
        if (c.refused.has_value() != refused)
            continue;
        for (std::uint32_t insn : c.difo.text)
            visit(insn);
    }
}

} // namespace

TEST(DifCases, EveryCaseGivesWhatItExpects)
{
    auto cases = all_cases();
    EXPECT_GT(cases.size(), 200u);
    for (const Case& c : cases)
        EXPECT_EQ(run_case(c), "") << c.file << ":" << c.line << ": " << c.title;
}

TEST(DifCases, EveryOpcodeIsRunOrRefusedByACase)
{
    std::set<unsigned> run, refused;
    each_instruction(false, [&](std::uint32_t i) { run.insert(DIF_INSTR_OP(i)); });
    each_instruction(true, [&](std::uint32_t i) { refused.insert(DIF_INSTR_OP(i)); });
    const std::set<unsigned> never = {DIF_OP_LDTA, DIF_OP_XLATE, DIF_OP_XLARG};
#define X(op, number, operands, mnemonic)                                              \
    EXPECT_TRUE(never.count(number) ? refused.count(number) : run.count(number))       \
        << mnemonic << " has no case";
    DIF_OPS(X)
#undef X
}

TEST(DifCases, EverySubroutineThatAHostCanServeIsCalledByACase)
{
    std::set<unsigned> called;
    each_instruction(false, [&](std::uint32_t i) {
        if (DIF_INSTR_OP(i) == DIF_OP_CALL)
            called.insert(DIF_INSTR_IDX(i));
    });
    auto check = [&](const std::string& name, unsigned number,
                     const std::string& where) {
        bool served = where == "ANY" || where == "WRITE";
        EXPECT_TRUE(!served || called.count(number)) << name << " has no case";
    };
#define X(name, number, prototype, where) check(#name, number, #where);
    DIF_SUBRS(X)
#undef X
}

TEST(DifCases, EveryBuiltinThatAHostCanServeIsReadByACase)
{
    std::set<unsigned> read;
    each_instruction(false, [&](std::uint32_t i) {
        if (DIF_INSTR_OP(i) == DIF_OP_LDGS)
            read.insert(DIF_INSTR_IDX(i));
        if (DIF_INSTR_OP(i) == DIF_OP_LDGA)
            read.insert(DIF_INSTR_R1(i));
    });
    auto check = [&](const std::string& name, unsigned number,
                     const std::string& source) {
        bool served = source != "KERNEL";
        EXPECT_TRUE(!served || read.count(number)) << name << " has no case";
    };
#define X(name, number, type, source) check(#name, number, #source);
    DIF_VAR_ARRAYS(X)
    DIF_VAR_SCALARS(X)
#undef X
}

TEST(DifCases, EveryRefusalOfTheVerifierIsProvokedByACase)
{
    std::set<std::string> provoked;
    for (const Case& c : all_cases()) {
        if (c.refused)
            provoked.insert(*c.refused);
    }
    std::ifstream in(std::string(DIF_SOURCE_DIR) + "/verify.c");
    std::stringstream source;
    source << in.rdbuf();
    std::string text = source.str();
    std::regex refusal("dt_bad\\(\\s*&?c,\\s*\"([^\"]*)\"");
    unsigned n = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), refusal), end; it != end;
         ++it) {
        n++;
        EXPECT_TRUE(provoked.count((*it)[1])) << "no case is refused as: " << (*it)[1];
    }
    EXPECT_GT(n, 12u);
}

TEST(DifCases, WhatTheDisassemblerPrintsAssemblesToTheSameWords)
{
    each_instruction(false, [](std::uint32_t insn) {
        char text[80];
        dt_disasm(insn, text, sizeof(text));
        Difo again;
        assemble(again, text);
        ASSERT_EQ(again.text.size(), 1u);
        EXPECT_EQ(again.text[0], insn) << text;
    });
}
