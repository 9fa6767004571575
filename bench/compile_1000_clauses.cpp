// SPDX-License-Identifier: MIT
// How long does it take to compile a D script of 1,000 clauses to DOF?
//
// The program prints the median, the fastest and the slowest run in milliseconds. The
// goal is a median of at most 1,000 ms.
#include "libdtrace/compile/compiler.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/utsname.h>
#include <vector>

namespace {

std::string script(int n_clauses)
{
    static const char* const bodies[] = {
        "self->ts[probefunc] = timestamp; self->size = arg0;",
        "@lat[probefunc, execname] = quantize(timestamp - self->ts[probefunc]);"
        " self->ts[probefunc] = 0;",
        "printf(\"%-20s %6d %s %x\\n\", probefunc, pid, execname, arg1 & 0xff);",
        "@bytes[ustack(5), tid % 16] = lquantize(arg0 * 3 + 1, 0, 4096, 64);",
        "this->r = (struct request *)arg0; total += this->r->length;"
        " seen[this->r->id, pid] = this->r->flags == 3 ? 1 : 2;",
        "this->path = copyinstr(arg0); @opens[basename(this->path)] = count();",
        "depth[tid]++; deepest = depth[tid] > deepest ? depth[tid] : deepest;",
        "trace(strjoin(probemod, strjoin(\"`\", probefunc)));",
    };
    static const char* const predicates[] = {
        "",
        " /self->ts[probefunc]/",
        " /execname == \"csh\" && arg0 > 128/",
        " /pid != $pid || (uid == 0 && strlen(probefunc) > 3)/",
    };
    std::string text = "struct request { int id; unsigned flags : 4; long length; };\n"
                       "self uint64_t ts[string];\nint64_t total, deepest;\n";
    for (int i = 0; i < n_clauses; i++) {
        text += "pid$target:libapp.so:function_" + std::to_string(i) + ":entry";
        text += predicates[i % std::size(predicates)];
        text += "\n{\n\t";
        text += bodies[i % std::size(bodies)];
        text += "\n}\n\n";
    }
    return text;
}

struct Environment : dt::Environment {
    std::optional<std::uint64_t> macro_value(std::string_view) override { return 1234; }
};

double compile_ms(const std::string& text)
{
    dt::CompileOptions options;
    Environment environment;
    options.environment = &environment;
    auto start = std::chrono::steady_clock::now();
    dt::Compiler compiler;
    auto result = compiler.compile(text, options);
    if (auto* diagnostic = std::get_if<dt::Diagnostic>(&result)) {
        std::fprintf(stderr, "line %d: %s\n", diagnostic->at.line,
                     diagnostic->text.c_str());
        std::exit(1);
    }
    auto dof = dt::write_dof(std::get<dt::Program>(result), 0);
    std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    if (dof.empty())
        std::exit(1);
    return took.count();
}

} // namespace

int main(int argc, char** argv)
{
    int n_clauses = argc > 1 ? std::atoi(argv[1]) : 1000;
    int n_runs = argc > 2 ? std::atoi(argv[2]) : 15;
    std::string text = script(n_clauses);
    std::vector<double> runs;
    for (int i = 0; i < std::max(n_runs, 1); i++)
        runs.push_back(compile_ms(text));
    std::sort(runs.begin(), runs.end());

    utsname machine = {};
    uname(&machine);
    std::printf("compile %d clauses, %zu bytes of D: median %.1f ms, %.1f to %.1f, "
                "%zu runs, %s %s\n",
                n_clauses, text.size(), runs[runs.size() / 2], runs.front(),
                runs.back(), runs.size(), machine.sysname, machine.machine);
    return n_clauses == 1000 && runs[runs.size() / 2] > 1000 ? 1 : 0;
}
