// SPDX-License-Identifier: MIT
// Tests D programs that use types and variables of a kernel, with invented kernel data.
// Also tests needs_kernel, the flag of programs that need the kernel module.
#include "dif/ops.h"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/symbols/debug/btf_types.hpp"
#include "tests/unit/compile/given_environment.hpp"
#include "tests/unit/symbols/debug/btf_data.hpp"

#include <gtest/gtest.h>

using namespace dt;

namespace {

struct Kernel {
    Kernel()
    {
        auto opened = BtfTypes::from(SmallKernel().bytes());
        EXPECT_TRUE(opened);
        types = std::move(*opened);
        options.environment = &environment;
        environment.on_is_kernel_module = [](std::string_view name) {
            return name == "vmlinux";
        };
        environment.on_kernel_modules = [this](std::string_view) {
            n_asked++;
            return Result<std::vector<TargetModule>>(
                std::vector<TargetModule>{{"vmlinux", 0, types.get()}});
        };
        environment.on_kernel_symbol =
            [this](std::string_view, std::string_view name) -> Result<KernelSymbol> {
            const std::map<std::string_view, KernelSymbol> all = {
                {"jiffies", {"vmlinux", 0xffffffff82000000, 8, false}},
                {"init_task", {"vmlinux", 0xffffffff82000100, 40, false}},
                {"linux_banner", {"vmlinux", 0xffffffff82000200, banner_bytes, false}},
                {"secret", {"vmlinux", 0xffffffff82000300, 4, false}},
                {"runs", {"vmlinux", 0xffffffff82000400, 8, false}},
                {"wake", {"vmlinux", 0xffffffff81000000, 64, true}}};
            auto found = all.find(name);
            if (found == all.end())
                return Error{Code::not_found,
                             "the kernel has no symbol " + std::string(name), 0};
            return found->second;
        };
        environment.on_probed_function = [this](std::uint32_t id) {
            return std::variant<ProbedFunction, ArgumentTypes, std::string>(
                ProbedFunction{id == 1 ? ProbedFunction::At::Entry
                                       : ProbedFunction::At::Return,
                               types.get(), *types->function_named("wake")});
        };
        environment.on_match =
            [](const ProbeSpec& spec) -> std::variant<ProbeMatch, Diagnostic> {
            return ProbeMatch{{spec.name == "entry" ? 1u : 2u}, false, {}};
        };
    }

    std::string error(std::string_view text)
    {
        auto result = compiler.compile(text, options);
        if (auto* diagnostic = std::get_if<Diagnostic>(&result))
            return diagnostic->text;
        program = std::get<Program>(std::move(result));
        return "";
    }
    std::uint64_t value(const std::string& expression)
    {
        EXPECT_EQ(error("BEGIN { trace(" + expression + "); }"), "") << expression;
        const Difo& difo = *program.clauses.at(0).actions.at(0).difo;
        return difo.ints.empty() ? difo.text.at(0) : difo.ints.at(0);
    }

    std::unique_ptr<BtfTypes> types;
    Compiler compiler;
    GivenEnvironment environment;
    CompileOptions options;
    Program program;
    int n_asked = 0;
    std::uint64_t banner_bytes = 64;
};

bool has(const std::string& text, std::string_view part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST(KernelNames, TypesOfTheKernelNeedNoScope)
{
    Kernel kernel;
    EXPECT_EQ(kernel.value("sizeof(struct task_struct)"), 40u);
    EXPECT_EQ(kernel.value("sizeof(vmlinux`struct task_struct)"), 40u);
    EXPECT_EQ(kernel.value("sizeof(`struct task_struct)"), 40u);
    EXPECT_EQ(kernel.value("sizeof(kpid_t)"), 4u);
    EXPECT_EQ(kernel.value("offsetof(struct task_struct, comm)"), 8u);
    EXPECT_EQ(kernel.error("kpid_t last; struct task_struct *t; BEGIN { "
                           "t = (struct task_struct *)arg0; last = t->parent->flag; "
                           "trace(t->comm); trace(*(kpid_t *)arg1); print(*t); }"),
              "");
    EXPECT_FALSE(kernel.program.needs_kernel);
}

TEST(KernelNames, LoadsThroughPointersOfTheKernelArePlain)
{
    Kernel kernel;
    ASSERT_EQ(kernel.error("BEGIN { trace(((struct task_struct *)arg0)->pid); }"), "");
    std::string text = disassemble(*kernel.program.clauses[0].actions[0].difo);
    EXPECT_TRUE(has(text, "ldsw")) << text;
    EXPECT_FALSE(has(text, "uldsw")) << text;
}

TEST(KernelNames, DeclarationsOfTheProgramTakePrecedence)
{
    Kernel kernel;
    EXPECT_EQ(kernel.value("sizeof(struct task_struct)"), 40u);
    Kernel other;
    EXPECT_EQ(other.error("struct task_struct *early; struct task_struct { int a; }; "
                          "BEGIN { trace(early->a); }"),
              "");
    EXPECT_EQ(other.error("typedef char kpid_t; BEGIN { x = (kpid_t)300; }"), "");
}

TEST(KernelNames, WordsThatAreTypedefsOfTheKernelStayNamesOfVariables)
{
    Kernel kernel;
    EXPECT_EQ(kernel.error("BEGIN { kpid_t = 1; trace(kpid_t); trace((kpid_t)); "
                           "trace((kpid_t) * 2); @[kpid_t] = count(); "
                           "trace(kpid_t * kpid_t); printf(\"%d\", kpid_t); }"),
              "");
}

TEST(KernelNames, AProgramOfItsOwnNamesDoesNotAskTheKernel)
{
    Kernel kernel;
    EXPECT_EQ(
        kernel.error("struct own { int a; }; int total; BEGIN { n = 1; total += n; "
                     "this->o = (struct own *)arg0; trace(probefunc); "
                     "printf(\"%d\", n); @sums[execname, n] = sum(total); }"),
        "");
    EXPECT_EQ(kernel.n_asked, 0);
}

TEST(KernelNames, VariablesHaveTheirTypesAndMarkTheProgram)
{
    Kernel kernel;
    EXPECT_EQ(kernel.value("`jiffies"), 0xffffffff82000000);
    EXPECT_TRUE(kernel.program.needs_kernel);
    EXPECT_TRUE(kernel.program.clauses[0].needs_kernel);
    EXPECT_EQ(kernel.error("BEGIN { trace(vmlinux`init_task.pid); "
                           "trace(stringof(`linux_banner)); printf(\"%a\", `wake); }"),
              "");
    EXPECT_EQ(kernel.error("BEGIN { trace(1); }"), "");
    EXPECT_FALSE(kernel.program.needs_kernel);
}

TEST(KernelNames, DeviceNumbersOfTheKernelAreSplitByItsEncoding)
{
    Kernel kernel;
    auto text = [&](const std::string& expression) {
        EXPECT_EQ(kernel.error("BEGIN { trace(" + expression + "); }"), "")
            << expression;
        return disassemble(*kernel.program.clauses.at(0).actions.at(0).difo);
    };
    EXPECT_EQ(kernel.value("getmajor((vmlinux`dev_t)0x800005)"), 8u);
    EXPECT_EQ(kernel.value("getminor((vmlinux`dev_t)0x8fff05)"), 0xfff05u);
    EXPECT_TRUE(has(text("getmajor(((struct node *)arg0)->device)"), "srl"));
    EXPECT_TRUE(has(text("getmajor((dev_t)arg0)"), "call"));
    EXPECT_TRUE(has(text("getminor(arg0)"), "call"));
}

TEST(KernelNames, AnArrayOfCharactersOfUnknownLengthIsNoLongerThanAString)
{
    Kernel kernel;
    EXPECT_EQ(kernel.value("sizeof(`linux_banner)"), 64u);
    kernel.banner_bytes = 1 << 20;
    EXPECT_EQ(kernel.value("sizeof(`linux_banner)"), 256u);
}

TEST(KernelNames, VariablesWithoutATypeHaveAnAddress)
{
    Kernel kernel;
    EXPECT_EQ(kernel.error("BEGIN { trace(*(int *)&`secret); }"), "");
    EXPECT_EQ(
        kernel.error("BEGIN { trace(`secret); }"),
        "symbol `secret has no type: the kernel's type data does not describe it; "
        "*(int *)&`secret reads it as an int");
}

TEST(KernelNames, AVariableOfEachCpuIsReadWithTheCpusOffset)
{
    Kernel kernel;
    EXPECT_TRUE(has(kernel.error("BEGIN { trace(`runs); }"), "is a per-CPU variable"));
    EXPECT_EQ(
        kernel.error("BEGIN { trace(*(unsigned long *)((uintptr_t)&`runs + 64)); }"),
        "");
}

TEST(KernelNames, EnumeratorsInCapitalsNeedNoScope)
{
    Kernel kernel;
    EXPECT_EQ(kernel.value("WIDE"), 0x123456789abu);
    EXPECT_EQ(kernel.value("vmlinux`WIDE"), 0x123456789abu);
    EXPECT_TRUE(has(kernel.error("BEGIN { trace(wide); }"), "failed to resolve wide"));
}

TEST(KernelNames, ValuesOfTheKernelRequireItsModule)
{
    const char* text = "BEGIN { trace(curthread->pid); trace(caller); stack(); "
                       "trace(stackdepth); }";
    Kernel kernel;
    EXPECT_TRUE(has(kernel.error(text), "needs the dtrace kernel module"));
    EXPECT_TRUE(has(kernel.error("BEGIN { stack(); }"), "not available"));
    kernel.options.kernel = true;
    EXPECT_EQ(kernel.error(text), "");
    EXPECT_TRUE(kernel.program.needs_kernel);
    EXPECT_EQ(kernel.error("BEGIN { print(*curthread); @[stack(3)] = count(); }"), "");
}

TEST(KernelNames, ATranslatedStringIsIndexedWithinItsBounds)
{
    const std::string translator = "translator lwpsinfo_t < struct task_struct *t > { "
                                   "pr_name = stringof(t->comm); "
                                   "pr_lwpid = t->pid; }; ";
    Kernel kernel;
    kernel.options.kernel = true;
    EXPECT_EQ(kernel.error(translator + "BEGIN { trace(curlwpsinfo->pr_name[255]); }"),
              "");
    EXPECT_TRUE(has(kernel.error("BEGIN { trace(curlwpsinfo->pr_name[256]); }"),
                    "index 256 is out of bounds: the string has 256 bytes"));
    EXPECT_TRUE(has(kernel.error("BEGIN { trace(xlate <lwpsinfo_t *> "
                                 "(curthread)->pr_name[256]); }"),
                    "index 256 is out of bounds: the string has 256 bytes"));
    EXPECT_EQ(kernel.error("BEGIN { trace((stringof(curthread->comm))[256]); }"), "");
}

TEST(KernelNames, AnInlineThatIsAnAddressOfTheKernelTakesItsModule)
{
    Kernel kernel;
    kernel.options.kernel = true;
    for (const char* text :
         {"inline unsigned long *ticks = &`jiffies; BEGIN { trace(*ticks); }",
          "inline unsigned long at = (unsigned long)&`jiffies; inline unsigned long "
          "next = at + 8; BEGIN { trace(*(int *)next); }"}) {
        EXPECT_EQ(kernel.error(text), "");
        EXPECT_TRUE(kernel.program.needs_kernel) << text;
    }
    EXPECT_EQ(
        kernel.error("inline unsigned long *unused = &`jiffies; BEGIN { trace(1); }"),
        "");
    EXPECT_FALSE(kernel.program.needs_kernel);
}

TEST(KernelNames, AnInlineStillNeedsTheKernelAfterAnotherProgramWasRefused)
{
    Kernel kernel;
    kernel.options.kernel = true;
    EXPECT_EQ(kernel.error("inline unsigned long at = (unsigned long)&`jiffies; "
                           "BEGIN { trace(1); }"),
              "");
    EXPECT_NE(kernel.error("BEGIN { trace(unknown_name); }"), "");
    EXPECT_EQ(kernel.error("BEGIN { trace(at); }"), "");
    EXPECT_TRUE(kernel.program.needs_kernel);
}

TEST(KernelNames, ArgumentsOfAFunctionHaveTheTypesOfItsPrototype)
{
    Kernel kernel;
    EXPECT_EQ(
        kernel.error("fbt:vmlinux:wake:entry { trace(args[0]->comm); "
                     "trace(args[1]); } fbt:vmlinux:wake:return { trace(args[1]); }"),
        "");
    EXPECT_TRUE(has(kernel.error("fbt:vmlinux:wake:entry { trace(args[2]); }"),
                    "the probe has 2 arguments"));
}

TEST(KernelNames, ArgumentsOfASystemCallAreOfTheKernelsTypesInTheMemoryOfTheProcess)
{
    Kernel kernel;
    auto of_programs =
        BtfTypes::from(SmallKernel().bytes(), DebugTypes::Place::Process);
    ASSERT_TRUE(of_programs);
    ArgumentTypes said;
    said.written = {
        {"fd", "unsigned int"},          {"task", "const struct task_struct *"},
        {"argv", "const char *const *"}, {"which", "const unknown_t"},
        {"where", "struct unknown *"},   {"list", "unknown_t * *"},
        {"data", "const void *const"},   {"pid", "const kpid_t"}};
    said.written_in = of_programs->get();
    kernel.environment.on_probed_function = [&](std::uint32_t) { return said; };
    EXPECT_EQ(
        kernel.compiler.argument_texts(said),
        (std::vector<std::string>{
            "unsigned int fd", "userland const struct task_struct *task",
            "userland const char *const *argv", "long which", "userland void *where",
            "userland void **list", "userland const void *data", "kpid_t pid"}));
    EXPECT_EQ(kernel.error("syscall::x:entry { trace(args[0]); trace(args[3]); }"), "");
    auto reads = [&](std::string_view expression, unsigned op) {
        EXPECT_EQ(kernel.error("syscall::x:entry { trace(" + std::string(expression) +
                               "); }"),
                  "")
            << expression;
        bool found = false;
        for (std::uint32_t word : kernel.program.clauses.at(0).actions.at(0).difo->text)
            found = found || DIF_INSTR_OP(word) == op;
        EXPECT_TRUE(found) << expression;
    };
    reads("args[1]->pid", DIF_OP_ULDSW);
    reads("args[1]->parent->pid", DIF_OP_ULDSW);
    reads("args[2][0]", DIF_OP_ULDX);
    // Argument types are the kernel's types, even if the program declares types with
    // the same names.
    EXPECT_EQ(kernel.error("struct task_struct { char c[3]; }; typedef char kpid_t; "
                           "syscall::x:entry { trace(args[1]->pid); trace(args[7]); }"),
              "");
    EXPECT_TRUE(has(kernel.error("syscall::x:entry { trace(args[8]); }"),
                    "the probe has 8 arguments"));
}

TEST(KernelNames, MistypedNamesAreSuggested)
{
    Kernel kernel;
    EXPECT_TRUE(has(kernel.error("BEGIN { trace(`jiffes); }"),
                    "the kernel has no symbol jiffes"));
    EXPECT_TRUE(has(kernel.error("BEGIN { trace((struct vmlinux`task_strct *)arg0); }"),
                    "did you mean task_struct?"));
}
