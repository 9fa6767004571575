// SPDX-License-Identifier: MIT
// Compiles arbitrary bytes as a D program. The result must be a diagnostic or a
// program.
//
//   compile_fuzz -max_total_time=60 -rss_limit_mb=1024 -timeout=5 \
//                -dict=tests/fuzz/compile/compile.dict CORPUS
//
// A corpus is any directory of D programs, such as tests/d. Two bits of the first byte
// set the options string_program and defaultargs.
#include "libdtrace/compile/compiler.hpp"

#include <cstdlib>

namespace {

struct Environment : dt::Environment {
    std::optional<std::uint64_t> macro_value(std::string_view name) override
    {
        if (name == "target" || name == "pid")
            return 42;
        return std::nullopt;
    }
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size == 0)
        return 0;
    std::string_view text(reinterpret_cast<const char*>(data), size);
    dt::CompileOptions options;
    options.string_program = (data[0] & 1) != 0;
    options.defaultargs = (data[0] & 2) != 0;
    options.macro_args = {"fuzz", "1", "name"};
    Environment environment;
    options.environment = &environment;

    dt::Compiler compiler;
    auto result = compiler.compile(text, options);
    if (const auto* wrong = std::get_if<dt::Diagnostic>(&result)) {
        if (wrong->text.empty())
            std::abort(); // a diagnostic must have a text
        dt::quote_source(text, wrong->at);
        // A program that does not compile must not change the compiler's state.
        auto again = compiler.compile(text, options);
        const auto* same = std::get_if<dt::Diagnostic>(&again);
        if (same == nullptr || same->text != wrong->text)
            std::abort();
        return 0;
    }
    dt::write_dof(std::get<dt::Program>(result), 0);
    return 0;
}
