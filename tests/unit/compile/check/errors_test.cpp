// SPDX-License-Identifier: MIT
// Tests each error tag of the checker with a program that causes the error.
#include "tests/unit/compile/check/support.hpp"

namespace dt {
namespace {

struct Wrong {
    const char* tag;
    const char* program;
};

// clang-format off
constexpr Wrong wrong_programs[] = {
    {"D_IDENT_UNDEF", "BEGIN { trace(nothing); }"},
    {"D_IDENT_UNDEF", "BEGIN { x = x + 1; }"},
    {"D_VAR_UNDEF", "BEGIN { trace(a[1]); }"},
    {"D_IDENT_UNDEF", "BEGIN { trace(&a.out`nothing); }"},
    {"D_IDENT_BADREF", "int a[int]; BEGIN { trace(a); }"},
    {"D_IDENT_BADREF", "int a[int]; BEGIN { a = 1; }"},
    {"D_IDENT_BADREF", "BEGIN { trace(args); }"},
    {"D_IDENT_AMBIG", "enum e { red }; BEGIN { red = 1; trace(red); }"},
    {"D_VAR_UNDEF", "BEGIN { trace(self->nothing); }"},
    {"D_VAR_UNDEF", "BEGIN { trace(this->nothing); }"},
    {"D_VAR_UNSUP", "BEGIN { trace(caller); }"},
    {"D_VAR_UNSUP", "BEGIN { trace(curthread); }"},
    {"D_VAR_UNSUP", "BEGIN { trace(curpsinfo->pr_addr); }"},
    {"D_TYPE_MEMBER", "BEGIN { trace(curpsinfo->pr_nothing); }"},
    {"D_TYPE_MEMBER", "BEGIN { trace(fds[0].fi_nothing); }"},
    {"D_TYPE_MEMBER", "BEGIN { trace(fds[0].pr_psargs); }"},
    {"D_VAR_UNSUP", "BEGIN { trace(fds[0]); }"},
    {"D_VAR_UNSUP", "BEGIN { trace(&fds[0]); }"},
    {"D_VAR_UNSUP", "BEGIN { trace(fds.fi_name); }"},
    {"D_PROTO_ARG", "BEGIN { trace(fds[execname].fi_name); }"},
    {"D_PROTO_ARG", "BEGIN { trace(fds[1.5].fi_name); }"},
    {"D_OP_LVAL", "BEGIN { fds[0].fi_oflags++; }"},
    {"D_DECL_IDRED", "int fds[int]; BEGIN { }"},
    {"D_FUNC_IDKIND", "BEGIN { fds(); }"},
    {"D_TYPE_MEMBER", "struct s { int a; }; BEGIN { trace(((struct s *)arg0)->b); }"},
    {"D_TYPE_MEMBER", "struct s { int a; }; BEGIN { trace(offsetof (struct s, b)); }"},
    {"D_DECL_IDRED", "int pid; BEGIN { }"},
    {"D_DECL_IDRED", "int x; string x; BEGIN { }"},
    {"D_DECL_IDRED", "inline int pid = 1; BEGIN { }"},
    {"D_DECL_LOCASSC", "this int x[int]; BEGIN { }"},
    {"D_DECL_VOIDOBJ", "void x; BEGIN { }"},
    {"D_DECL_INCOMPLETE", "struct nothing x; BEGIN { }"},
    {"D_ARR_LOCAL", "BEGIN { this->x[1] = 2; }"},
    {"D_ARR_BADREF", "BEGIN { x = 1; trace(x[0]); }"},
    {"D_ARR_BOUNDS", "int x[4]; BEGIN { trace(x[4]); }"},
    {"D_ARR_BOUNDS", "int x[4]; BEGIN { x[-1] = 1; }"},
    {"D_ARR_BOUNDS", "BEGIN { trace(curlwpsinfo->pr_name[256]); }"},
    {"D_ARR_BOUNDS", "BEGIN { trace(\"abc\"[256]); }"},
    {"D_KEY_TYPE", "struct s { int a; }; struct s v; BEGIN { a[v] = 1; }"},
    {"D_PROTO_LEN", "BEGIN { a[1] = 1; a[1, 2] = 1; }"},
    {"D_PROTO_ARG", "BEGIN { a[1] = 1; a[\"x\"] = 1; }"},
    {"D_PROTO_LEN", "BEGIN { trace(strlen()); }"},
    {"D_PROTO_LEN", "BEGIN { trace(copyinstr()); }"},
    {"D_PROTO_LEN", "BEGIN { trace(copyinstr(1, 2, 3)); }"},
    {"D_PROTO_LEN", "BEGIN { exit(); }"},
    {"D_PROTO_ARG", "BEGIN { trace(strlen(1)); }"},
    {"D_PROTO_ARG", "BEGIN { trace(copyinstr(\"text\")); }"},
    {"D_PROTO_ARG", "BEGIN { exit(\"text\"); }"},
    {"D_FUNC_UNDEF", "BEGIN { nothing(1); }"},
    {"D_FUNC_UNDEF", "BEGIN { trace(mutex_owned(0)); }"},
    {"D_FUNC_UNDEF", "BEGIN { trace(msgsize(0)); }"},
    {"D_FUNC_UNDEF", "BEGIN { stack(); }"},
    {"D_FUNC_UNDEF", "BEGIN { panic(); }"},
    {"D_FUNC_UNDEF", "BEGIN { printm(1); }"},
    {"D_FUNC_IDKIND", "BEGIN { pid(); }"},
    {"D_CG_EXPR", "BEGIN { x = exit(0); }"},
    {"D_CG_EXPR", "BEGIN { x = count(); }"},
    {"D_OP_ACT", "BEGIN { arg0 ? trace(1) : trace(2); }"},
    {"D_CG_EXPR", "BEGIN { a[ustack()] = 1; }"},
    {"D_PRED_SCALAR", "BEGIN /execname/ { }"},
    {"D_PRED_SCALAR", "struct s { int a; }; struct s v; BEGIN /v/ { }"},
    {"D_OP_WRITE", "BEGIN { pid = 1; }"},
    {"D_OP_WRITE", "BEGIN { pid++; }"},
    {"D_OP_LVAL", "BEGIN { 1 = 2; }"},
    {"D_OP_LVAL", "BEGIN { (pid + 1)++; }"},
    {"D_OP_LVAL", "inline int one = 1; BEGIN { one = 2; }"},
    {"D_OP_INCOMPAT", "BEGIN { x = 1; x += \"a\"; }"},
    {"D_OP_INCOMPAT", "BEGIN { x = 1; x = \"a\"; }"},
    {"D_OP_INCOMPAT", "BEGIN { trace(1 - \"a\"); }"},
    {"D_OP_INCOMPAT", "BEGIN { trace(\"a\" + \"b\"); }"},
    {"D_OP_INCOMPAT", "BEGIN { trace(\"a\" == 1); }"},
    {"D_OP_INCOMPAT", "BEGIN { trace(arg0 ? \"a\" : 1); }"},
    {"D_OP_INCOMPAT", "BEGIN { x = bcopy(0, 0, 1); }"},
    {"D_OP_INCOMPAT", "char *p; BEGIN { p = arg0; }"},
    {"D_OP_INT", "BEGIN { trace(\"a\" % 2); }"},
    {"D_OP_INT", "BEGIN { trace(~execname); }"},
    {"D_OP_INT", "BEGIN { x = \"a\"; x &= 1; }"},
    {"D_OP_ARITH", "BEGIN { trace(\"a\" * 2); }"},
    {"D_OP_ARITH", "BEGIN { trace(-execname); }"},
    {"D_OP_ARITH", "BEGIN { trace(*(long double *)arg0 + 1); }"},
    {"D_OP_SCALAR", "BEGIN { trace(!execname); }"},
    {"D_OP_SCALAR", "BEGIN { trace(execname && 1); }"},
    {"D_OP_PTR", "BEGIN { trace(arg0->x); }"},
    {"D_OP_SOU", "BEGIN { trace(((int *)arg0)->x); }"},
    {"D_OP_SOU", "BEGIN { trace(arg0.x); }"},
    {"D_OP_INCOMPLETE", "struct t; BEGIN { trace(((struct t *)arg0)->x); }"},
    {"D_OP_INCOMPLETE", "struct t; BEGIN { trace((struct t *)arg0 + 1); }"},
    {"D_OP_VFPTR", "int (*f)(int); BEGIN { f++; }"},
    {"D_OP_ACT", "BEGIN { trace(1), trace(2); }"},
    {"D_OP_ARRFUN", "int x[4]; BEGIN { x++; }"},
    {"D_OP_ARRFUN", "int x[4]; BEGIN { x += 1; }"},
    {"D_OP_DYN", "BEGIN { @a = count(); x = @a; }"},
    {"D_DEREF_NONPTR", "BEGIN { trace(*arg0); }"},
    {"D_DEREF_VOID", "BEGIN { trace(*(void *)arg0); }"},
    {"D_DEREF_FUNC", "int (*f)(int); BEGIN { trace(*f); }"},
    {"D_ADDROF_VAR", "BEGIN { x = 1; trace(&x); }"},
    {"D_ADDROF_VAR", "BEGIN { trace(&pid); }"},
    {"D_ADDROF_LVAL", "BEGIN { trace(&(pid + 1)); }"},
    {"D_ADDROF_BITFIELD", "struct s { int b:3; }; BEGIN { trace(&((struct s *)arg0)->b); }"},
    {"D_SIZEOF_BITFIELD", "struct s { int b:3; }; BEGIN { trace(sizeof (((struct s *)arg0)->b)); }"},
    {"D_SIZEOF_TYPE", "BEGIN { trace(sizeof (void)); }"},
    {"D_OFFSETOF_TYPE", "BEGIN { trace(offsetof (int, b)); }"},
    {"D_OFFSETOF_BITFIELD", "struct s { int b:3; }; BEGIN { trace(offsetof (struct s, b)); }"},
    {"D_STRINGOF_TYPE", "struct s { int a; }; struct s v; BEGIN { trace(stringof(v)); }"},
    {"D_CAST_INVAL", "struct s { int a; }; struct s v; BEGIN { trace((int)v); }"},
    {"D_CAST_INVAL", "struct s { int a; }; BEGIN { trace((struct s)arg0); }"},
    {"D_CAST_INVAL", "BEGIN { trace((double)execname); }"},
    {"D_DIV_ZERO", "BEGIN { trace(1 / 0); }"},
    {"D_DIV_ZERO", "BEGIN { trace(arg0 % 0); }"},
    {"D_DIV_ZERO", "BEGIN { x = 1; x /= 0; }"},
    {"D_OP_INT", "BEGIN { trace(1.5 % 2); }"},
    {"D_ALLOCA_INCOMPAT", "BEGIN { this->p = alloca(8); this->p = copyin(arg0, 8); }"},
    {"D_ALLOCA_SIZE", "BEGIN { this->p = alloca(-1); }"},
    {"D_XLATE_SOU", "translator int < int p > { }; BEGIN { }"},
    {"D_XLATE_MEMB", "struct o { int a; }; translator struct o < int p > { b = p; }; BEGIN { }"},
    {"D_XLATE_INCOMPAT", "struct o { int a; }; translator struct o < int p > { a = execname; }; BEGIN { }"},
    {"D_XLATE_REDECL", "struct o { int a; }; translator struct o < int p > { a = p; };"
                       "translator struct o < int p > { a = p; }; BEGIN { }"},
    {"D_XLATE_NOCONV", "struct o { int a; int b; }; translator struct o < int p > { a = p; };"
                       "BEGIN { trace((xlate <struct o> ((int)arg0)).b); }"},
    {"D_XLATE_NONE", "struct o { int a; }; BEGIN { trace((xlate <struct o> (arg0)).a); }"},
    {"D_AGG_FUNC", "BEGIN { @a = 1; }"},
    {"D_AGG_FUNC", "BEGIN { @a += count(); }"},
    {"D_AGG_NULL", "BEGIN { @a; }"},
    {"D_AGG_NULL", "BEGIN { count(); }"},
    {"D_AGG_REDEF", "BEGIN { @a = count(); @a = sum(1); }"},
    {"D_AGG_SCALAR", "BEGIN { @a = sum(execname); }"},
    {"D_AGG_MDIM", "BEGIN { @a[1][2] = count(); }"},
    {"D_AGG_COMM", "BEGIN { commit(1); @a = count(); }"},
    {"D_AGG_SPEC", "BEGIN { speculate(1); @a = count(); }"},
    {"D_COMM_COMM", "BEGIN { commit(1); commit(1); }"},
    {"D_COMM_DREC", "BEGIN { trace(1); commit(1); }"},
    {"D_DREC_COMM", "BEGIN { commit(1); trace(1); }"},
    {"D_SPEC_SPEC", "BEGIN { speculate(1); speculate(1); }"},
    {"D_SPEC_COMM", "BEGIN { commit(1); speculate(1); }"},
    {"D_SPEC_DREC", "BEGIN { trace(1); speculate(1); }"},
    {"D_ACT_SPEC", "BEGIN { speculate(1); system(\"true\"); }"},
    {"D_EXIT_SPEC", "BEGIN { speculate(1); exit(0); }"},
    {"D_KEY_TYPE", "struct s { int a; }; struct s v; BEGIN { @a[v] = count(); }"},
    {"D_PROTO_LEN", "BEGIN { @a[1] = count(); @a[1, 2] = count(); }"},
    {"D_PROTO_ARG", "BEGIN { @a[1] = count(); @a[\"x\"] = count(); }"},
    {"D_PROTO_LEN", "BEGIN { @a = count(1); }"},
    {"D_PROTO_LEN", "BEGIN { @a = sum(); }"},
    {"D_PROTO_LEN", "BEGIN { @a = lquantize(arg0, 1); }"},
    {"D_PROTO_LEN", "BEGIN { @a = quantize(1, 2, 3); }"},
    {"D_LQUANT_BASETYPE", "BEGIN { @a = lquantize(arg0, arg1, 10); }"},
    {"D_LQUANT_BASEVAL", "BEGIN { @a = lquantize(arg0, 0x100000000, 10); }"},
    {"D_LQUANT_LIMTYPE", "BEGIN { @a = lquantize(arg0, 0, arg1); }"},
    {"D_LQUANT_LIMVAL", "BEGIN { @a = lquantize(arg0, 0, 0x100000000); }"},
    {"D_LQUANT_MISMATCH", "BEGIN { @a = lquantize(arg0, 10, 10); }"},
    {"D_LQUANT_STEPTYPE", "BEGIN { @a = lquantize(arg0, 0, 10, arg1); }"},
    {"D_LQUANT_STEPVAL", "BEGIN { @a = lquantize(arg0, 0, 10, 65536); }"},
    {"D_LQUANT_STEPTYPE", "BEGIN { @a = lquantize(arg0, 0, 10, 0); }"},
    {"D_LQUANT_STEPSMALL", "BEGIN { @a = lquantize(arg0, 0, 1000000, 1); }"},
    {"D_LQUANT_STEPLARGE", "BEGIN { @a = lquantize(arg0, 0, 10, 20); }"},
    {"D_LQUANT_MATCHBASE", "BEGIN { @a = lquantize(1, 0, 10); @a = lquantize(1, 1, 10); }"},
    {"D_LQUANT_MATCHLIM", "BEGIN { @a = lquantize(1, 0, 10); @a = lquantize(1, 0, 11); }"},
    {"D_LQUANT_MATCHSTEP", "BEGIN { @a = lquantize(1, 0, 10); @a = lquantize(1, 0, 10, 2); }"},
    {"D_LLQUANT_FACTORTYPE", "BEGIN { @a = llquantize(1, arg0, 0, 6, 20); }"},
    {"D_LLQUANT_FACTORVAL", "BEGIN { @a = llquantize(1, 65536, 0, 6, 20); }"},
    {"D_LLQUANT_FACTORSMALL", "BEGIN { @a = llquantize(1, 1, 0, 6, 20); }"},
    {"D_LLQUANT_LOWTYPE", "BEGIN { @a = llquantize(1, 10, arg0, 6, 20); }"},
    {"D_LLQUANT_LOWVAL", "BEGIN { @a = llquantize(1, 10, -1, 6, 20); }"},
    {"D_LLQUANT_HIGHTYPE", "BEGIN { @a = llquantize(1, 10, 0, arg0, 20); }"},
    {"D_LLQUANT_HIGHVAL", "BEGIN { @a = llquantize(1, 10, 0, 65536, 20); }"},
    {"D_LLQUANT_NSTEPTYPE", "BEGIN { @a = llquantize(1, 10, 0, 6, arg0); }"},
    {"D_LLQUANT_NSTEPVAL", "BEGIN { @a = llquantize(1, 10, 0, 6, 65536); }"},
    {"D_LLQUANT_MAGRANGE", "BEGIN { @a = llquantize(1, 10, 6, 6, 20); }"},
    {"D_LLQUANT_MAGTOOBIG", "BEGIN { @a = llquantize(1, 10, 0, 100, 20); }"},
    {"D_LLQUANT_FACTORNSTEPS", "BEGIN { @a = llquantize(1, 10, 0, 6, 5); }"},
    {"D_LLQUANT_FACTOREVEN", "BEGIN { @a = llquantize(1, 10, 0, 6, 30); }"},
    {"D_LLQUANT_FACTORMATCH", "BEGIN { @a = llquantize(1, 10, 0, 6, 20); @a = llquantize(1, 20, 0, 6, 20); }"},
    {"D_LLQUANT_LOWMATCH", "BEGIN { @a = llquantize(1, 10, 0, 6, 20); @a = llquantize(1, 10, 1, 6, 20); }"},
    {"D_LLQUANT_HIGHMATCH", "BEGIN { @a = llquantize(1, 10, 0, 6, 20); @a = llquantize(1, 10, 0, 7, 20); }"},
    {"D_LLQUANT_NSTEPMATCH", "BEGIN { @a = llquantize(1, 10, 0, 6, 20); @a = llquantize(1, 10, 0, 6, 10); }"},
    {"D_PROTO_ARG", "BEGIN { printf(pid); }"},
    {"D_PRINTF_ARG_FMT", "BEGIN { printf(execname); }"},
    {"D_PRINTF_FMT_EMPTY", "BEGIN { printf(\"\"); }"},
    {"D_PROTO_LEN", "BEGIN { printf(); }"},
    {"D_PRINTF_ARG_PROTO", "BEGIN { printf(\"%d\"); }"},
    {"D_PRINTF_ARG_EXTRA", "BEGIN { printf(\"x\", 1); }"},
    {"D_PRINTF_ARG_TYPE", "BEGIN { printf(\"%d\", execname); }"},
    {"D_PRINTF_ARG_TYPE", "BEGIN { printf(\"%s\", pid); }"},
    {"D_PRINTF_ARG_TYPE", "BEGIN { printf(\"%hd\", pid); }"},
    {"D_PRINTF_ARG_TYPE", "BEGIN { printf(\"%f\", pid); }"},
    {"D_PRINTF_AGG_CONV", "BEGIN { printf(\"%@d\", 1); }"},
    {"D_PRINTF_AGG_CONV", "BEGIN { @a = count(); printa(\"%@s\", @a); }"},
    {"D_PRINTF_DYN_PROTO", "BEGIN { printf(\"%*d\"); }"},
    {"D_PRINTF_DYN_TYPE", "BEGIN { printf(\"%*d\", execname, 1); }"},
    {"D_SYNTAX", "BEGIN { printf(\"%1$d\", 1); }"},
    {"D_SYNTAX", "BEGIN { printf(\"%**d\", 1, 2, 3); }"},
    {"D_SYNTAX", "BEGIN { printf(\"%1.2.3d\", 1); }"},
    {"D_SYNTAX", "BEGIN { printf(\"%q\", 1); }"},
    {"D_SYNTAX", "BEGIN { printf(\"%\", 1); }"},
    {"D_SYNTAX", "BEGIN { printf(\"%5%\"); }"},
    {"D_PROTO_LEN", "BEGIN { printa(); }"},
    {"D_PRINTA_PROTO", "BEGIN { printa(\"x\"); }"},
    {"D_PRINTA_AGGARG", "BEGIN { printa(\"x\", 1); }"},
    {"D_PRINTA_AGGBAD", "BEGIN { printa(@nothing); }"},
    {"D_PRINTA_AGGKEY", "BEGIN { @a[1] = count(); @b[1, 2] = count(); printa(@a, @b); }"},
    {"D_PRINTA_AGGPROTO", "BEGIN { @a[1] = count(); @b[\"x\"] = count(); printa(@a, @b); }"},
    {"D_PRINTF_ARG_PROTO", "BEGIN { @a[1] = count(); printa(\"%d %d\", @a); }"},
    {"D_PRINTF_ARG_TYPE", "BEGIN { @a[1] = count(); printa(\"%s %@d\", @a); }"},
    {"D_TRACE_VOID", "BEGIN { trace(bcopy(alloca(1), alloca(1), 1)); }"},
    {"D_TRACE_AGG", "BEGIN { @a = count(); trace(@a); }"},
    {"D_PRINT_VOID", "BEGIN { print((void)1); }"},
    {"D_PRINT_AGG", "BEGIN { @a = count(); print(@a); }"},
    {"D_TRACEMEM_ADDR", "struct s { int a; }; struct s v; BEGIN { tracemem(v, 8); }"},
    {"D_TRACEMEM_SIZE", "BEGIN { tracemem(arg0, 0); }"},
    {"D_TRACEMEM_SIZE", "BEGIN { tracemem(arg0, arg1); }"},
    {"D_TRACEMEM_ARGS", "BEGIN { tracemem(arg0, 8, 4, 2); }"},
    {"D_TRACEMEM_DYNSIZE", "BEGIN { tracemem(arg0, 8, execname); }"},
    {"D_USTACK_FRAMES", "BEGIN { ustack(0); }"},
    {"D_USTACK_FRAMES", "BEGIN { ustack(arg0); }"},
    {"D_USTACK_STRSIZE", "BEGIN { ustack(1, -1); }"},
    {"D_USTACK_PROTO", "BEGIN { ustack(1, 2, 3); }"},
    {"D_CLEAR_PROTO", "BEGIN { clear(); }"},
    {"D_CLEAR_AGGARG", "BEGIN { clear(1); }"},
    {"D_CLEAR_AGGBAD", "BEGIN { clear(@nothing); }"},
    {"D_NORMALIZE_PROTO", "BEGIN { @a = count(); normalize(@a); }"},
    {"D_NORMALIZE_SCALAR", "BEGIN { @a = count(); normalize(@a, \"x\"); }"},
    {"D_NORMALIZE_AGGARG", "BEGIN { normalize(1, 2); }"},
    {"D_NORMALIZE_AGGBAD", "BEGIN { normalize(@nothing, 2); }"},
    {"D_NORMALIZE_AGGBAD", "BEGIN { denormalize(@nothing); }"},
    {"D_TRUNC_PROTO", "BEGIN { trunc(); }"},
    {"D_TRUNC_SCALAR", "BEGIN { @a = count(); trunc(@a, \"x\"); }"},
    {"D_TRUNC_AGGARG", "BEGIN { trunc(1); }"},
    {"D_TRUNC_AGGBAD", "BEGIN { trunc(@nothing); }"},
    {"D_FREOPEN_INVALID", "BEGIN { freopen(\".\"); }"},
    {"D_ARGS_NONE", "BEGIN { trace(args[0]); }"},
    {"D_ARGS_IDX", "BEGIN { trace(args[pid]); }"},
    {"D_REGS_IDX", "BEGIN { trace(uregs[execname]); }"},
    {"D_REGS_IDX", "BEGIN { trace(uregs[28]); }"},
    {"D_OP_INCOMPAT", "BEGIN { x = execname; x = 0; }"},
    {"D_PROTO_ARG", "BEGIN { a[(char *)arg0] = 1; a[\"x\"] = 2; }"},
    {"D_PRAGMA_UNUSED", "#pragma D attributes Private/Private/ISA nothing\nBEGIN { }"},
    {"D_PRAGMA_UNUSED", "#pragma D binding \"1.0\" nothing\nBEGIN { }"},
    {"D_PRAGMA_SCOPE", "#pragma D attributes Private/Private/ISA a.out`main\nBEGIN { }"},
};
// clang-format on

class CheckErrors : public testing::TestWithParam<Wrong> {};

TEST_P(CheckErrors, ProgramIsRefusedWithItsTagAndLine)
{
    Checked checked;
    checked.run(GetParam().program);
    EXPECT_EQ(checked.tag(), GetParam().tag) << GetParam().program << "\n"
                                             << checked.text();
    if (checked.error) {
        EXPECT_EQ(checked.error->at.line, 1) << GetParam().program;
        EXPECT_FALSE(checked.text().empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Table, CheckErrors, testing::ValuesIn(wrong_programs));

TEST(CheckErrorTexts, UnknownNamesSayWhatWasMeant)
{
    EXPECT_EQ(Traced("execnam").text(),
              "failed to resolve execnam: Unknown variable name "
              "(did you mean execname?)");
    EXPECT_EQ(Traced("qqqqqqqq").text(),
              "failed to resolve qqqqqqqq: Unknown variable name");
    EXPECT_EQ(Traced("strlne(execname)").text(),
              "undefined function name: strlne (did you mean strlen?)");
}

TEST(CheckErrorTexts, PrototypesAreQuotedRightAligned)
{
    EXPECT_EQ(Traced("strlen(1)").text(),
              "strlen( ) argument #1 is incompatible with prototype:\n"
              "\tprototype: const char *\n"
              "\t argument: int");
    EXPECT_EQ(Traced("copyin(1)").text(),
              "copyin( ) prototype mismatch: 1 arg passed, 2 expected");
    EXPECT_EQ(Traced("copyinstr()").text(),
              "copyinstr( ) prototype mismatch: 0 args passed, at least 1 expected");
    EXPECT_EQ(Traced("copyinstr(1, 2, 3)").text(),
              "copyinstr( ) prototype mismatch: 3 args passed, at most 2 expected");

    Checked checked;
    checked.run("BEGIN { printf(); }");
    EXPECT_EQ(checked.text(),
              "printf( ) prototype mismatch: 0 args passed, at least 1 expected");
    checked.run("BEGIN { a[1] = 1; a[\"x\"] = 1; }");
    EXPECT_EQ(checked.text(), "a[ ] key #1 is incompatible with prototype:\n"
                              "\tprototype: int\n"
                              "\t      key: string");
    checked.run("BEGIN { printf(\"%s\", 1); }");
    EXPECT_EQ(checked.text(),
              "printf( ) argument #2 is incompatible with conversion #1 prototype:\n"
              "\tconversion: %s\n"
              "\t prototype: char [] or string (or use stringof)\n"
              "\t  argument: int");
}

TEST(CheckErrorTexts, ProgramsWithMoreVariablesThanDifCanNumberAreRefused)
{
    Checked checked;
    checked.symbols.next_variable = 0xffff;
    checked.run("BEGIN { last = 1; }");
    EXPECT_FALSE(checked.error) << checked.text();
    checked.run("BEGIN { one_more = 1; }");
    EXPECT_EQ(checked.tag(), "D_ID_OFLOW");
}

TEST(CheckErrorTexts, OperandsAreNamedByType)
{
    Checked checked;
    checked.run("BEGIN { x = 1; x += \"a\"; }");
    EXPECT_EQ(checked.text(),
              "operands have incompatible types: \"int\" += \"string\"");
}

TEST(CheckErrorTexts, RefusedOptionsQuoteTheReason)
{
    Checked checked;
    checked.environment.on_set_option = [](std::string_view name, std::string_view) {
        return name == "quiet" ? std::nullopt
                               : std::optional<std::string>("Invalid option name");
    };
    checked.run("#pragma D option quiet\nBEGIN { }");
    EXPECT_FALSE(checked.error) << checked.text();
    checked.run("#pragma D option nothing=1\nBEGIN { }");
    EXPECT_EQ(checked.tag(), "D_PRAGMA_OPTSET");
}

TEST(CheckProbes, RefusalsOfTheMatcherStandAtTheDescription)
{
    Checked checked;
    checked.environment.on_match =
        [](const ProbeSpec& spec) -> std::variant<ProbeMatch, Diagnostic> {
        return Diagnostic{Tag::PDESC_ZERO, {}, "no " + spec.text, ""};
    };
    checked.run("BEGIN { }\nfoo:::bar { }");
    EXPECT_EQ(checked.tag(), "D_PDESC_ZERO");
    EXPECT_EQ(checked.error->at.line, 1);
    checked.options.zdefs = true;
    checked.run("foo:::bar { }");
    EXPECT_FALSE(checked.error);
}

TEST(CheckProbes, ProbesWithDifferentArgumentsMakeArgsAmbiguous)
{
    Checked checked;
    checked.environment.on_match =
        [&](const ProbeSpec& spec) -> std::variant<ProbeMatch, Diagnostic> {
        ProbeMatch match;
        match.args.push_back(spec.name == "x" ? checked.types.int_type()
                                              : checked.types.int64_type());
        return match;
    };
    checked.run("p:::x, p:::y { trace(args[0]); }");
    EXPECT_EQ(checked.tag(), "D_ARGS_MULTI");
}

TEST(CheckProbes, PidProbesWithoutTypesPointToArgN)
{
    Checked checked;
    checked.environment.on_match =
        [](const ProbeSpec&) -> std::variant<ProbeMatch, Diagnostic> {
        return ProbeMatch{{1}};
    };
    checked.environment.on_probed_function =
        [](std::uint32_t) -> std::variant<ProbedFunction, ArgumentTypes, std::string> {
        return "nobody knows it";
    };
    checked.run("pid42:a.out:f:entry { trace(args[3]); }");
    EXPECT_EQ(checked.tag(), "D_ARGS_TYPE");
    EXPECT_NE(checked.text().find("arg3"), std::string::npos) << checked.text();
}

} // namespace
} // namespace dt
