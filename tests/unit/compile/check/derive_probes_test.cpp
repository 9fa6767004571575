// SPDX-License-Identifier: MIT
#include "libdtrace/compile/compiler.hpp"
#include "tests/unit/compile/given_environment.hpp"

#include <gtest/gtest.h>

namespace dt {

namespace {

constexpr std::string_view definition = R"(
self uint64_t object;
self int once;
door:::begin { self->object = arg1; self->once = 0; }
door:::open /self->object != 0 && arg1 == 5/ { (void *)self->object; 7; }
door:::open.side { (void *)arg2; 8; }
door:::wait /self->object != 0 && self->once++ == 0/ { (void *)self->object; }
)";

class Derived : public ::testing::Test {
protected:
    // Returns the rewritten program, or the message of the error.
    std::string rewritten(std::string_view text)
    {
        GivenEnvironment environment;
        environment.on_derived_probes = [](std::string_view provider) {
            return provider == "door1" ? definition : "";
        };
        CompileOptions options;
        options.environment = &environment;
        options.keep_text = true;
        options.string_program = true;
        auto compiled = compiler_.compile(text, options);
        if (auto* diagnostic = std::get_if<Diagnostic>(&compiled))
            return diagnostic->text;
        return std::get<Program>(compiled).text;
    }

    Compiler compiler_;
};

} // namespace

TEST_F(Derived, AreRewrittenForEachDefinitionWithTheVariablesThatItNeeds)
{
    EXPECT_EQ(rewritten("door1::f:open /pid/ { y = 1; }"),
              "self uint64_t %object;\n\n"
              "door1:::begin.\n{\n\tself->%object = arg1;\n}\n\n"
              "door1::f:open.\n/((self->%object != 0) && (arg1 == 5)) && pid/\n{\n\ty "
              "= 1;\n}\n\n"
              "door1::f:open.side\n/pid/\n{\n\ty = 1;\n}\n\n");
}

TEST_F(Derived, LeaveOtherDescriptionsOfAClauseUnchanged)
{
    const std::string text = rewritten("door1:::open, BEGIN { y = 1; }");
    EXPECT_NE(text.find("\nBEGIN\n{\n\ty = 1;\n}\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("%once"), std::string::npos) << text;
}

TEST_F(Derived, PrepareEachVariableOnce)
{
    const std::string text =
        rewritten("door1:::open { y = 1; } door1:::open { y = 2; }");
    const std::string prepares = "door1:::begin.";
    const auto first = text.find(prepares);
    ASSERT_NE(first, std::string::npos) << text;
    EXPECT_EQ(text.find(prepares, first + 1), std::string::npos) << text;
}

TEST_F(Derived, GiveEachClauseItsOwnVariableOnce)
{
    const std::string text = rewritten("door1:::wait { y = 1; } door1:::w* { y = 2; }");
    EXPECT_NE(text.find("self->%once1++ == 0"), std::string::npos) << text;
    EXPECT_NE(text.find("self->%once2++ == 0"), std::string::npos) << text;
}

TEST_F(Derived, HaveTheArgumentsOfTheirDefinition)
{
    EXPECT_EQ(rewritten("door1:::wait { trace(args[1]); }"),
              "index 1 is out of range for args[ ]: the probe has 1 argument");
    EXPECT_EQ(rewritten("door1:::open.side { trace(args[1]); }"),
              "probe description door1:::open.side does not match any probes");
    const std::string text =
        rewritten("door1:::open { x = args[0]; z = arg1 + arg9; }");
    EXPECT_NE(text.find("door1:::open.\n"), std::string::npos) << text;
}

TEST_F(Derived, LetAPredicateUseAVariableThatTheClauseCreates)
{
    const std::string text = rewritten("door1:::wait /!self->in/ { self->in = 1; }");
    EXPECT_NE(text.find("door1:::wait.\n"), std::string::npos) << text;
}

} // namespace dt
