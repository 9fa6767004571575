// SPDX-License-Identifier: MIT
// Tests the types of expressions, and constant folding.
#include "tests/unit/compile/check/support.hpp"

namespace dt {
namespace {

TEST(CheckTypes, BuiltinsHaveTheTypesOfTheirTable)
{
    EXPECT_EQ(Traced("execname").type(), "string");
    EXPECT_EQ(Traced("timestamp").type(), "uint64_t");
    EXPECT_EQ(Traced("pid").type(), "pid_t");
    EXPECT_EQ(Traced("arg0").type(), "int64_t");
    EXPECT_EQ(Traced("uregs[0]").type(), "uint64_t");
    EXPECT_EQ(Traced("curpsinfo->pr_fname").type(), "string");
    EXPECT_EQ(Traced("curlwpsinfo->pr_lwpid").type(), "id_t");
    EXPECT_EQ(Traced("fds[0].fi_pathname").type(), "string");
    EXPECT_EQ(Traced("fds[arg0].fi_offset").type(), "offset_t");
    EXPECT_EQ(Traced("fds[0].fi_oflags").type(), "int");
}

TEST(CheckTypes, MembersOfCurpsinfoAreTheBuiltinsTheyStandFor)
{
    Traced name("curpsinfo->pr_fname");
    ASSERT_FALSE(name.error) << name.text();
    EXPECT_EQ(name.traced().ident->name, "execname");
    EXPECT_EQ(name.traced().ident->id, 0x118u);
    EXPECT_EQ(Traced("curpsinfo->pr_sid").traced().ident->name, "pr_sid");
}

TEST(CheckTypes, MembersOfFdsAreElementsOfBuiltinArrays)
{
    Traced name("fds[arg0].fi_name");
    ASSERT_FALSE(name.error) << name.text();
    EXPECT_EQ(name.traced().kind, NodeKind::Index);
    EXPECT_EQ(name.traced().left->ident->name, "fi_name");
    EXPECT_EQ(name.traced().left->ident->id, 0x10u);
    EXPECT_EQ(name.traced().args[0]->ident->name, "arg0");
}

TEST(CheckTypes, ArithmeticFollowsTheUsualConversions)
{
    EXPECT_EQ(Traced("pid + 1").type(), "pid_t");
    EXPECT_EQ(Traced("pid + 1L").type(), "long");
    EXPECT_EQ(Traced("timestamp - 1").type(), "uint64_t");
    EXPECT_EQ(Traced("arg0 + 1u").type(), "int64_t");
    EXPECT_EQ(Traced("(char)arg0 + (short)arg1").type(), "int");
    EXPECT_EQ(Traced("(uint32_t)arg0 + (int)arg1").type(), "uint32_t");
    EXPECT_EQ(Traced("(char)arg0 << 40L").type(), "int");
    EXPECT_EQ(Traced("arg0 < timestamp").type(), "int");
    EXPECT_EQ(Traced("-(char)arg0").type(), "int");
    EXPECT_EQ(Traced("!arg0").type(), "int");
}

TEST(CheckTypes, OperandTypeTellsTheSignOfDivisionAndShift)
{
    EXPECT_TRUE(Traced("arg0 / 3").traced().operand_type->resolve()->is_signed);
    EXPECT_FALSE(Traced("timestamp / 3").traced().operand_type->resolve()->is_signed);
    EXPECT_TRUE(Traced("arg0 >> 3u").traced().operand_type->resolve()->is_signed);
    EXPECT_FALSE(
        Traced("arg0 < timestamp").traced().operand_type->resolve()->is_signed);
}

TEST(CheckTypes, ConstantsAreFoldedInSixtyFourBits)
{
    struct Case {
        const char* expression;
        std::uint64_t value;
    };
    for (Case c : {
             Case{"1 + 2 * 3", 7},
             {"(10 - 3) / 2", 3},
             {"-7 / 2", static_cast<std::uint64_t>(-3)},
             {"-7 % 4", static_cast<std::uint64_t>(-3)},
             {"~0", ~std::uint64_t{0}},
             {"1 << 40", std::uint64_t{1} << 40},
             {"-8 >> 1", static_cast<std::uint64_t>(-4)},
             {"(char)300", 44},
             {"(unsigned char)-1", 255},
             {"(int)0x80000000", 0xffffffff80000000},
             {"-1 < 1u", 0},
             {"3 > 2 && 0 || 1", 1},
             {"1 ^^ 1", 0},
             {"1 ? 5 : 6", 5},
             {"sizeof (int)", 4},
             {"sizeof (1L)", 8},
             {"sizeof (execname)", 256},
             {"+5", 5},
             {"!3", 0},
         }) {
        Traced traced(c.expression);
        ASSERT_FALSE(traced.error) << c.expression << ": " << traced.text();
        EXPECT_EQ(traced.traced().kind, NodeKind::Integer) << c.expression;
        EXPECT_EQ(traced.traced().value, c.value) << c.expression;
    }
}

TEST(CheckTypes, FirstAssignmentFixesAVariablesType)
{
    Checked checked;
    checked.run("BEGIN { x = timestamp; self->s = execname; this->p = &`nothing; }");
    EXPECT_EQ(checked.tag(), "D_IDENT_UNDEF");

    checked.run("BEGIN { x = timestamp; self->s = execname; this->n = (char)1; }");
    ASSERT_FALSE(checked.error) << checked.text();
    auto type_of = [&](Scope scope, const char* name) {
        return type_text(checked.symbols.variables.at({scope, name})->type);
    };
    EXPECT_EQ(type_of(Scope::Global, "x"), "uint64_t");
    EXPECT_EQ(type_of(Scope::Self, "s"), "string");
    EXPECT_EQ(type_of(Scope::This, "n"), "char");
}

TEST(CheckTypes, VariableIdsStartAt0x500AndDiffer)
{
    Checked checked;
    checked.run("BEGIN { x = 1; self->x = 2; this->x = 3; a[1] = 4; }");
    ASSERT_FALSE(checked.error) << checked.text();
    std::set<std::uint32_t> ids;
    for (const auto& [key, ident] : checked.symbols.variables)
        ids.insert(ident->id);
    EXPECT_EQ(ids.size(), 4u);
    EXPECT_EQ(*ids.begin(), 0x500u);
}

TEST(CheckTypes, IncrementMakesAnUndeclaredVariableAnInt64)
{
    Checked checked;
    checked.run("BEGIN { n++; a[execname]++; total += pid; }");
    ASSERT_FALSE(checked.error) << checked.text();
    for (const char* name : {"n", "a", "total"})
        EXPECT_EQ(type_text(checked.symbols.variables.at({Scope::Global, name})->type),
                  "int64_t");
}

TEST(CheckTypes, PredicateMayTestAVariableThatItsBodyCreates)
{
    Checked checked;
    checked.run("BEGIN /self->seen == 0/ { self->seen = 1; }");
    EXPECT_FALSE(checked.error) << checked.text();
}

TEST(CheckTypes, PredicateThatAssignsMakesVariablesForItsBody)
{
    Checked checked;
    checked.run("BEGIN /(x = arg0) != 0/ { trace(x); }");
    EXPECT_FALSE(checked.error) << checked.text();
}

TEST(CheckTypes, PointersToUserlandAreLoadedThroughUserland)
{
    Traced traced("((userland struct s *)arg0)->a", "struct s { int a; };");
    ASSERT_FALSE(traced.error) << traced.text();
    EXPECT_TRUE(traced.traced().left->userland);
    EXPECT_FALSE(Traced("((struct s *)arg0)->a", "struct s { int a; };")
                     .traced()
                     .left->userland);
}

TEST(CheckTypes, StringsCompareAsStringsAndNullAsAddress)
{
    EXPECT_TRUE(Traced("execname == \"csh\"").traced().string_compare);
    EXPECT_FALSE(Traced("strstr(execname, \"x\") == NULL").traced().string_compare);
    EXPECT_FALSE(Traced("arg0 == 1").traced().string_compare);
}

TEST(CheckTypes, TextIsAKeyByItsBytesWhateverBringsIt)
{
    Checked checked;
    checked.run("struct s { char name[8]; }; BEGIN { a[((struct s *)arg0)->name] = 1;"
                " a[\"x\"] = 2; a[(char *)arg1] = 3; }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_TRUE(
        checked.symbols.variables.at({Scope::Global, "a"})->keys[0]->is_string());
    for (std::size_t i : {0, 1, 2})
        EXPECT_TRUE(checked.statement(i).left->args[0]->type->is_string());
}

TEST(CheckTypes, ZeroFreesStringsThatAreElements)
{
    Checked checked;
    checked.run("BEGIN { self->s = execname; self->s = 0; a[1] = \"x\"; a[1] = 0; }");
    EXPECT_FALSE(checked.error) << checked.text();
}

TEST(CheckTypes, RegistersHaveNames)
{
    Traced traced("uregs[R_RIP]");
    ASSERT_FALSE(traced.error) << traced.text();
    EXPECT_EQ(traced.traced().args[0]->value, 17u);
    EXPECT_EQ(Traced("uregs[R_PC]").traced().args[0]->value, 17u);
}

TEST(CheckTypes, PragmasMaySpeakOfNamesDeclaredAfterThem)
{
    Checked checked;
    checked.run("#pragma D attributes Private/Private/ISA x\nint x; BEGIN { }");
    EXPECT_FALSE(checked.error) << checked.text();
}

TEST(CheckTypes, PointersStepByTheirPointee)
{
    const char* before = "struct point { int x; int y; };";
    Traced sum("(struct point *)arg0 + 2", before);
    EXPECT_EQ(sum.type(), "struct point *");
    EXPECT_EQ(Traced("(int *)arg0 - (int *)arg1").type(), "int64_t");
    EXPECT_EQ(Traced("((struct point *)arg0)->y", before).type(), "int");
    EXPECT_EQ(Traced("((struct point *)arg0)->y", before).traced().value, 4u);
    EXPECT_EQ(Traced("*(short *)arg0").type(), "short");
    EXPECT_EQ(Traced("((short *)arg0)[3]").type(), "short");
    EXPECT_EQ(Traced("&((struct point *)arg0)->y", before).type(), "int *");
    EXPECT_EQ(Traced("offsetof (struct point, y)", before).traced().value, 4u);
}

TEST(CheckTypes, ConversionToBoolTestsForZero)
{
    EXPECT_EQ(Traced("(bool)256").traced().value, 1u);
    Traced traced("(bool)arg0");
    ASSERT_FALSE(traced.error) << traced.text();
    EXPECT_EQ(traced.traced().op, Op::Ne);

    Checked checked;
    checked.run("bool flag; BEGIN { flag = arg0; }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_EQ(checked.statement().right->op, Op::Ne);
}

TEST(CheckTypes, BitFieldsNameTheirUnitAndBits)
{
    Traced traced("((struct flags *)arg0)->c",
                  "struct flags { int a:3; int b:7; int c:5; int d; };");
    ASSERT_FALSE(traced.error) << traced.text();
    const Node& node = traced.traced();
    EXPECT_TRUE(node.bitfield);
    EXPECT_EQ(node.value, 0u);
    EXPECT_EQ(node.bitfield_offset, 10u);
    EXPECT_EQ(node.bitfield_bits, 5u);
}

TEST(CheckTypes, InlinesAreExpandedWhereTheyAreUsed)
{
    Traced constant("twice", "inline int twice = 2 * 21;");
    ASSERT_FALSE(constant.error) << constant.text();
    EXPECT_EQ(constant.traced().value, 42u);
    EXPECT_EQ(Traced("now", "inline int now = timestamp;").type(), "int");

    Traced function("square[7]", "inline int square[int n] = n * n;");
    ASSERT_FALSE(function.error) << function.text();
    EXPECT_EQ(function.traced().value, 49u);
}

TEST(CheckTypes, InlinesThatExpandWithoutEndAreRefused)
{
    std::string program = "inline int a0 = arg0;";
    for (int i = 1; i < 40; i++) {
        std::string before = "a" + std::to_string(i - 1);
        program +=
            "inline int a" + std::to_string(i) + " = " + before + " + " + before + ";";
    }
    Checked checked;
    checked.run(program + "BEGIN { trace(a39); }");
    EXPECT_EQ(checked.tag(), "D_SYNTAX");
}

TEST(CheckTypes, ConstantInlinesCostNothingHoweverLongTheirChain)
{
    std::string program = "inline int a0 = 1;";
    for (int i = 1; i < 2000; i++)
        program += "inline int a" + std::to_string(i) + " = a" + std::to_string(i - 1) +
                   " % 7 + a" + std::to_string(i - 1) + " % 5;";
    Checked checked;
    checked.run(program + "BEGIN { trace(a1999); }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_TRUE(checked.traced().is_constant);
}

TEST(CheckTypes, TranslatorsReplaceTheMemberThatIsAskedFor)
{
    const char* before =
        "struct in { int a; int b; }; struct out { long sum; };"
        "translator struct out < struct in *p > { sum = p->a + p->b; };";
    Traced traced("(xlate <struct out> ((struct in *)arg0)).sum", before);
    EXPECT_EQ(traced.type(), "long");
}

TEST(CheckTypes, ProgramsOfOneSessionShareTheirNames)
{
    Checked checked;
    checked.run("BEGIN { x = timestamp; @a[pid] = count(); }");
    ASSERT_FALSE(checked.error) << checked.text();
    checked.run("END { trace(x); printa(@a); }");
    EXPECT_FALSE(checked.error) << checked.text();
}

TEST(CheckTypes, ArgsAreArgNWithTheTypesOfTheProbe)
{
    Checked checked;
    const Type* text = checked.types.pointer_to(checked.types.lookup("char"), true);
    checked.environment.on_match =
        [&](const ProbeSpec&) -> std::variant<ProbeMatch, Diagnostic> {
        return ProbeMatch{{7, 8}, false, {text, checked.types.int_type()}};
    };
    checked.run("pid1:a.out:f:entry { trace(args[1]); }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_EQ(type_text(checked.traced().type), "int");
    EXPECT_EQ(checked.traced().left->ident->name, "arg1");
    EXPECT_EQ(checked.unit.clauses[0]->probes[0].matched.size(), 2u);

    checked.run("pid1:a.out:f:entry { this->p = args[0]; }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_TRUE(checked.statement().userland);

    checked.run("pid1:a.out:f:entry { trace(args[2]); }");
    EXPECT_EQ(checked.tag(), "D_ARGS_IDX");
}

TEST(CheckTypes, AddressOfASymbolIsAUserlandPointer)
{
    Checked checked;
    checked.environment.on_symbol = [](std::string_view object,
                                       std::string_view symbol) {
        bool known = object == "a.out" && symbol == "counter";
        return known ? std::optional<std::uint64_t>(0x4010) : std::nullopt;
    };
    checked.run("BEGIN { trace(*(int *)&a.out`counter); }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_EQ(checked.traced().left->value, 0x4010u);
    checked.run("BEGIN { trace(a.out`counter); }");
    EXPECT_EQ(checked.tag(), "D_SYM_NOTYPES");
}

TEST(CheckTypes, DestructiveClausesAreMarked)
{
    Checked checked;
    checked.run("BEGIN { system(\"true\"); } END { trace(1); }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_TRUE(checked.unit.clauses[0]->destructive);
    EXPECT_FALSE(checked.unit.clauses[1]->destructive);
}

TEST(CheckTypes, EmptyBodyIsTheDefaultAction)
{
    Checked checked;
    checked.run("BEGIN { } END { trace(1); }");
    ASSERT_FALSE(checked.error) << checked.text();
    EXPECT_TRUE(checked.unit.clauses[0]->default_action);
    EXPECT_FALSE(checked.unit.clauses[1]->default_action);
}

TEST(CheckTypes, ConstantsOfActionsArePacked)
{
    Checked checked;
    checked.run("BEGIN { @a = lquantize(arg0, 0, 100, 10, 2); ustack(5, 64);"
                " @b[ustack()] = count(); tracemem(arg0, 16, arg1);"
                " printf(\"%d %s\", pid, execname); trace(ustack(3)); }");
    ASSERT_FALSE(checked.error) << checked.text();
    const Node& lquantize = *checked.statement(0).right;
    EXPECT_EQ(lquantize.value, (10ull << 48) | (10ull << 32));
    ASSERT_EQ(lquantize.args.size(), 2u);
    EXPECT_EQ(lquantize.args[1]->value, 2u);
    EXPECT_EQ(checked.statement(1).value, (64ull << 32) | 5);
    EXPECT_EQ(checked.statement(2).left->args[0]->value, 20u);
    EXPECT_EQ(checked.statement(3).value, 16u);
    EXPECT_EQ(checked.statement(3).args.size(), 2u);
    EXPECT_EQ(checked.statement(4).args.size(), 2u);
    EXPECT_EQ(checked.statement(4).format->conversions.size(), 2u);
    EXPECT_EQ(checked.statement(5).ident->name, "ustack");
}

} // namespace
} // namespace dt
