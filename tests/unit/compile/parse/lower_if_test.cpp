// SPDX-License-Identifier: MIT
#include "tests/unit/compile/parse/support.hpp"

namespace dt {

namespace {

std::string pieces(std::string_view text)
{
    Parsed parsed(text);
    if (parsed.error)
        return parsed.message();
    parsed.lowered();
    std::string all;
    for (const auto& clause : parsed.unit.clauses) {
        all += "/" + (clause->predicate ? shape(*clause->predicate) : "") + "/";
        for (const Stmt& statement : clause->statements)
            all += " " + shape(*statement.expr) + ";";
        all += "\n";
    }
    return all;
}

} // namespace

TEST(If, CutsAClauseAtItsCondition)
{
    EXPECT_EQ(pieces("BEGIN /x/ { a; if (c) { b; } else { d; } e; }"),
              "/x/ a; (this->%step = (c ? 2 : 3));\n"
              "/(this->%step == 2)/ b; (this->%step = 1);\n"
              "/(this->%step == 3)/ d; (this->%step = 1);\n"
              "/(this->%step == 1)/ e;\n");
}

TEST(If, JumpsOverABranchThatIsNotThere)
{
    EXPECT_EQ(pieces("BEGIN { if (c) b; e; }"),
              "// (this->%step = (c ? 2 : 1));\n"
              "/(this->%step == 2)/ b; (this->%step = 1);\n"
              "/(this->%step == 1)/ e;\n");
    EXPECT_EQ(pieces("BEGIN { if (c) { b; } }"), "// (this->%step = (c ? 1 : 0));\n"
                                                 "/(this->%step == 1)/ b;\n");
}

TEST(If, Chains)
{
    EXPECT_EQ(pieces("BEGIN { if (c) a; else if (d) b; else e; }"),
              "// (this->%step = (c ? 1 : 2));\n"
              "/(this->%step == 1)/ a;\n"
              "/(this->%step == 2)/ (this->%step = (d ? 3 : 4));\n"
              "/(this->%step == 3)/ b;\n"
              "/(this->%step == 4)/ e;\n");
}

TEST(If, NestsAndComesBackToWhatFollows)
{
    EXPECT_EQ(pieces("BEGIN { if (c) { if (d) { a; } } b; }"),
              "// (this->%step = (c ? 2 : 1));\n"
              "/(this->%step == 2)/ (this->%step = (d ? 3 : 1));\n"
              "/(this->%step == 3)/ a; (this->%step = 1);\n"
              "/(this->%step == 1)/ b;\n");
}

TEST(If, NeverUsesANumberTwiceInASession)
{
    Parsed parsed("BEGIN { if (c) a; } BEGIN { if (d) b; }");
    parsed.lowered();
    EXPECT_EQ(shape(*parsed.clause(1).predicate), "(this->%step == 1)");
    EXPECT_EQ(shape(*parsed.clause(3).predicate), "(this->%step == 2)");
    parsed.run("BEGIN { if (c) a; }").lowered();
    EXPECT_EQ(shape(*parsed.clause(1).predicate), "(this->%step == 3)");
}

TEST(If, LeavesOtherClausesAndTheOrderAlone)
{
    Parsed parsed("int x; BEGIN { a; } int y; END { if (c) b; }");
    parsed.lowered();
    const std::vector<std::pair<bool, std::size_t>> order = {
        {true, 0}, {false, 0}, {true, 1}, {false, 1}, {false, 2}};
    EXPECT_EQ(parsed.unit.order, order);
    EXPECT_EQ(parsed.clause(0).predicate, nullptr);
    EXPECT_EQ(parsed.clause(2).probes.at(0).name, "END");
}

} // namespace dt
