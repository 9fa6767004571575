// SPDX-License-Identifier: MIT
// Control lines: #pragma, #line, #error, #ident and cpp's `# 12 "file"`.
//
// #pragma D option takes effect before the program is parsed (scan_options), wherever it
// stands; here it is only recorded. The others are recorded in the Unit; whether their
// names exist is the checker's business.
#pragma once

#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/lexer.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

class Pragmas {
public:
    Pragmas(const CompileOptions& options, Unit& unit) : options_(options), unit_(unit)
    {
    }

    // One line without its '#'. Throws CompileError with the PRAG* tags.
    void control(std::string_view line, Place at, Lexer& lexer);

private:
    struct Words;

    void pragma(Words words, Place at, Lexer& lexer);
    void d_pragma(Words words, Place at);
    void option(Words& words, Place at);
    void attributes(Words& words, Place at);
    void binding(Words& words, Place at);
    void depends_on(Words& words, Place at);

    const CompileOptions& options_;
    Unit& unit_;
};

} // namespace dt
