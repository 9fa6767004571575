// SPDX-License-Identifier: MIT
// Tests the code that is generated for single expressions.
#include "dif/subrs.h"
#include "tests/unit/compile/generate/trees.hpp"

#include <gtest/gtest.h>

namespace dt::gen {
namespace {

using Words = std::vector<std::uint32_t>;

unsigned op_at(const Difo& difo, std::size_t i)
{
    return DIF_INSTR_OP(difo.text[i]);
}

Words ops(const Difo& difo)
{
    Words out;
    for (std::uint32_t insn : difo.text)
        out.push_back(DIF_INSTR_OP(insn));
    return out;
}

TEST(Generate, ComparesABuiltinWithAStringInTheReferencesWords)
{
    Trees t;
    Ident& execname = t.variable("execname", DIF_VAR_execname, t.types.string_type(),
                                 Scope::Global, IdentKind::Builtin);
    auto difo = t.dif(t.binary(Op::Eq, t.name(execname), t.text("csh")));

    EXPECT_EQ(difo->text, (Words{0x29011801, 0x26000102, 0x27010200, 0x12000006,
                                 0x0e000001, 0x11000007, 0x25000001, 0x23000001}));
    EXPECT_EQ(difo->ints, std::vector<std::uint64_t>{1});
    EXPECT_EQ(difo->strs, std::string("\0csh\0execname\0", 14));
    EXPECT_EQ(difo->rtype.kind, DIF_TYPE_CTF);
    EXPECT_EQ(difo->rtype.ckind, DIF_CKIND_INTEGER);
    EXPECT_EQ(difo->rtype.size, 4u);
    ASSERT_EQ(difo->vars.size(), 1u);
    EXPECT_EQ(difo->vars[0].id, 0x118u);
    EXPECT_EQ(difo->vars[0].flags, DIFV_F_REF);
    EXPECT_EQ(difo->vars[0].type.kind, DIF_TYPE_STRING);
}

TEST(Generate, LoadsAnArgumentInTheReferencesWords)
{
    Trees t;
    Ident& arg0 = t.variable("arg0", DIF_VAR_arg0, t.types.int64_type(), Scope::Global,
                             IdentKind::Builtin);
    auto difo = t.dif(t.name(arg0));

    EXPECT_EQ(difo->text, (Words{0x29010601, 0x23000001}));
    EXPECT_EQ(difo->rtype.size, 8u);
}

TEST(Generate, NarrowsWhatIsAssignedToASmallerTypeByAShiftPair)
{
    Trees t;
    Ident& x = t.variable("x", 0x500, t.types.int_type());
    Ident& y = t.variable("y", 0x501, t.types.int64_type());
    auto difo = t.dif(t.assign(t.name(x), t.name(y)));

    EXPECT_EQ(ops(*difo), (Words{DIF_OP_LDGS, DIF_OP_SETX, DIF_OP_SLL, DIF_OP_SRA,
                                 DIF_OP_STGS, DIF_OP_RET}));
    EXPECT_EQ(difo->ints, std::vector<std::uint64_t>{32});
}

TEST(Generate, NarrowsToUnsignedWithoutTheSign)
{
    Trees t;
    Ident& x = t.variable("x", 0x500, t.types.lookup("uint8_t"));
    Ident& y = t.variable("y", 0x501, t.types.int64_type());
    auto difo = t.dif(t.assign(t.name(x), t.name(y)));

    EXPECT_EQ(op_at(*difo, 3), DIF_OP_SRL);
    EXPECT_EQ(difo->ints, std::vector<std::uint64_t>{56});
}

TEST(Generate, DoesNotNarrowWhatFitsAlready)
{
    Trees t;
    Ident& x = t.variable("x", 0x500, t.types.int64_type());
    Ident& y = t.variable("y", 0x501, t.types.int_type());
    auto difo = t.dif(t.assign(t.name(x), t.name(y)));

    EXPECT_EQ(ops(*difo), (Words{DIF_OP_LDGS, DIF_OP_STGS, DIF_OP_RET}));
}

TEST(Generate, ChoosesLoadsBySizeSignAndOwnerOfTheMemory)
{
    struct {
        const char* type;
        dif_op plain, user;
    } rows[] = {
        {"int8_t", DIF_OP_LDSB, DIF_OP_ULDSB},  {"uint8_t", DIF_OP_LDUB, DIF_OP_ULDUB},
        {"int16_t", DIF_OP_LDSH, DIF_OP_ULDSH}, {"uint16_t", DIF_OP_LDUH, DIF_OP_ULDUH},
        {"int32_t", DIF_OP_LDSW, DIF_OP_ULDSW}, {"uint32_t", DIF_OP_LDUW, DIF_OP_ULDUW},
        {"uint64_t", DIF_OP_LDX, DIF_OP_ULDX},
    };
    for (const auto& row : rows) {
        for (bool user : {false, true}) {
            Trees t;
            const Type* type = t.types.lookup(row.type);
            Ident& p = t.variable("p", 0x500, t.types.pointer_to(type));
            NodePtr pointer = t.name(p);
            pointer->userland = user;
            auto difo = t.dif(t.unary(Op::Deref, std::move(pointer), type));
            EXPECT_EQ(op_at(*difo, 1), unsigned(user ? row.user : row.plain))
                << row.type;
        }
    }
}

TEST(Generate, ScalesWhatIsAddedToAPointer)
{
    Trees t;
    Ident& p = t.variable("p", 0x500, t.types.pointer_to(t.types.int_type()));
    Ident& i = t.variable("i", 0x501, t.types.int64_type());
    auto difo = t.dif(t.binary(Op::Add, t.name(p), t.name(i)));

    EXPECT_EQ(ops(*difo), (Words{DIF_OP_LDGS, DIF_OP_LDGS, DIF_OP_SETX, DIF_OP_MUL,
                                 DIF_OP_ADD, DIF_OP_RET}));
    EXPECT_EQ(difo->ints, std::vector<std::uint64_t>{4});
}

TEST(Generate, DividesTheDifferenceOfPointers)
{
    Trees t;
    const Type* pointer = t.types.pointer_to(t.types.int_type());
    Ident& p = t.variable("p", 0x500, pointer);
    Ident& q = t.variable("q", 0x501, pointer);
    NodePtr difference = t.binary(Op::Sub, t.name(p), t.name(q));
    difference->type = t.types.int64_type();
    auto difo = t.dif(difference);

    EXPECT_EQ(ops(*difo), (Words{DIF_OP_LDGS, DIF_OP_LDGS, DIF_OP_SUB, DIF_OP_SETX,
                                 DIF_OP_SDIV, DIF_OP_RET}));
}

TEST(Generate, EvaluatesTheDeeperOperandFirst)
{
    Trees t;
    Ident& x = t.variable("x", 0x500, t.types.int64_type());
    NodePtr deep = t.name(x); // x + (x + (x + ...)), nested 40 times on the right
    for (int i = 0; i < 40; i++)
        deep = t.binary(Op::Add, t.name(x), std::move(deep));
    auto difo = t.dif(deep);

    EXPECT_EQ(difo->text.size(), 41u + 40u + 1u);
}

NodePtr balanced(Trees& t, Ident& x, int depth)
{
    if (depth == 0)
        return t.name(x);
    return t.binary(Op::Mul, balanced(t, x, depth - 1), balanced(t, x, depth - 1));
}

TEST(Generate, FitsATreeOfSixLevelsIntoSevenRegistersAndRefusesSeven)
{
    Trees t;
    Ident& x = t.variable("x", 0x500, t.types.int64_type());
    EXPECT_EQ(t.dif(balanced(t, x, 6))->text.size(), 64u + 63u + 1u);
    try {
        t.dif(balanced(t, x, 7));
        FAIL() << "a tree that needs eight registers was accepted";
    } catch (const CompileError& error) {
        EXPECT_EQ(error.diagnostic.tag, Tag::NOREG);
        EXPECT_EQ(error.diagnostic.at.line, 1);
        EXPECT_NE(error.diagnostic.text.find("Insufficient registers"),
                  std::string::npos);
    }
}

TEST(Generate, RefusesExpressionsThatNestTooDeeply)
{
    Trees t;
    Ident& x = t.variable("x", 0x500, t.types.int64_type());
    NodePtr deep = t.name(x);
    for (int i = 0; i < 5000; i++)
        deep = t.binary(Op::Add, std::move(deep), t.name(x));
    EXPECT_THROW(t.dif(deep), CompileError);
}

TEST(Generate, PushesEightKeysWithOneRegisterAndRefusesNine)
{
    Trees t;
    Ident& array = t.variable("a", 0x500, t.types.int64_type(), Scope::Global,
                              IdentKind::AssocArray);
    array.keys.assign(8, t.types.int_type());
    std::vector<NodePtr> keys;
    for (int i = 0; i < 8; i++)
        keys.push_back(t.number(i + 1));
    auto difo = t.dif(t.element(array, std::move(keys)));
    EXPECT_EQ(op_at(*difo, 0), DIF_OP_FLUSHTS);
    EXPECT_EQ(op_at(*difo, 17), DIF_OP_LDGAA);
    EXPECT_EQ(difo->vars[0].kind, DIFV_KIND_ARRAY);

    array.keys.assign(9, t.types.int_type());
    keys.clear();
    for (int i = 0; i < 9; i++)
        keys.push_back(t.number(i));
    NodePtr nine = t.element(array, std::move(keys));
    EXPECT_THROW(t.dif(nine), CompileError);
}

TEST(Generate, EvaluatesACallAmongTheArgumentsBeforeItFlushesTheTuple)
{
    Trees t;
    Ident& strlen = t.variable("strlen", DIF_SUBR_strlen, t.types.uint64_type(),
                               Scope::Global, IdentKind::Subroutine);
    Ident& strjoin = t.variable("strjoin", DIF_SUBR_strjoin, t.types.string_type(),
                                Scope::Global, IdentKind::Subroutine);
    auto difo = t.dif(
        t.call(strlen, t.list(t.call(strjoin, t.list(t.text("a"), t.text("b"))))));

    EXPECT_EQ(
        ops(*difo),
        (Words{DIF_OP_FLUSHTS, DIF_OP_SETS, DIF_OP_PUSHTR, DIF_OP_SETS, DIF_OP_PUSHTR,
               DIF_OP_CALL, DIF_OP_FLUSHTS, DIF_OP_PUSHTR, DIF_OP_CALL, DIF_OP_RET}));
}

TEST(Generate, EvaluatesAKeyWithASideEffectOnceWhenAnElementIsModified)
{
    Trees t;
    Ident& i = t.variable("i", 0x501, t.types.int64_type());
    Ident& array = t.variable("a", 0x500, t.types.int64_type(), Scope::Self,
                              IdentKind::AssocArray);
    array.keys = {t.types.int64_type()};
    NodePtr key = t.step(NodeKind::PostInc, Op::Inc, t.name(i));
    NodePtr element = t.element(array, t.list(std::move(key)));
    auto difo = t.dif(t.assign(std::move(element), t.number(5), Op::Add));

    int n_stores = 0, n_pushes = 0;
    for (std::uint32_t op : ops(*difo)) {
        n_stores += op == DIF_OP_STGS;
        n_pushes += op == DIF_OP_PUSHTV;
    }
    EXPECT_EQ(n_stores, 1);
    EXPECT_EQ(n_pushes, 2);
    EXPECT_EQ(op_at(*difo, difo->text.size() - 2), DIF_OP_STTAA);
}

TEST(Generate, PostfixIncrementReturnsTheValueBefore)
{
    Trees t;
    Ident& x = t.variable("x", 0x500, t.types.int64_type());
    auto difo = t.dif(t.step(NodeKind::PostInc, Op::Inc, t.name(x)));

    unsigned loaded = DIF_INSTR_RD(difo->text.front());
    EXPECT_EQ(op_at(*difo, 0), DIF_OP_LDGS);
    EXPECT_EQ(DIF_INSTR_RD(difo->text.back()), loaded);
    ASSERT_EQ(difo->vars.size(), 1u);
    EXPECT_EQ(difo->vars[0].flags, DIFV_F_REF | DIFV_F_MOD);
}

TEST(Generate, BranchesOnlyForward)
{
    Trees t;
    Ident& x = t.variable("x", 0x500, t.types.int64_type(), Scope::This);
    NodePtr both =
        t.binary(Op::LogAnd, t.name(x), t.binary(Op::LogOr, t.name(x), t.number(0)));
    NodePtr odd = t.binary(Op::LogXor, std::move(both),
                           t.unary(Op::Not, t.name(x), t.types.int_type()));
    NodePtr choice = t.node(NodeKind::Cond, t.types.int64_type());
    choice->cond = std::move(odd);
    choice->left = t.number(7);
    choice->right = t.binary(Op::Add, t.name(x), t.name(x));
    auto difo = t.dif(choice);

    for (std::size_t i = 0; i < difo->text.size(); i++) {
        unsigned op = op_at(*difo, i);
        if (op >= DIF_OP_BA && op <= DIF_OP_BLEU) {
            EXPECT_GT(DIF_INSTR_LABEL(difo->text[i]), i);
            EXPECT_LT(DIF_INSTR_LABEL(difo->text[i]), difo->text.size());
        }
    }
}

TEST(Generate, KeepsEachConstantOnce)
{
    Trees t;
    NodePtr sum =
        t.binary(Op::Add, t.number(9), t.binary(Op::Add, t.number(9), t.number(9)));
    EXPECT_EQ(t.dif(sum)->ints, std::vector<std::uint64_t>{9});
}

} // namespace
} // namespace dt::gen
