// SPDX-License-Identifier: MIT
// A diagnostic of the D compiler: a tag, a place and one sentence.
//
// The compiler throws CompileError from deep inside an expression. No other code does,
// and compile() (compiler.hpp) turns it into a value.
#pragma once

#include "libdtrace/compile/tags.hpp"

#include <string>

namespace dt {

struct Place {
    int line = 0;   // counted from 1, as #line sets it; 0: no position
    int column = 0; // counted from 1; 0: unknown
    // counted from 1 by newlines; 0: the same as line, no #line was used
    int text_line = 0;
    // The D library, or the included file that #line names. Null: the program itself.
    // The session owns the name and never frees it.
    const std::string* file = nullptr;
    bool c_header = false; // the file is a C header that the preprocessor included

    int line_of_text() const { return text_line > 0 ? text_line : line; }
};

struct Diagnostic {
    Tag tag = Tag::UNKNOWN;
    Place at;
    std::string text;   // in the wording of classic DTrace, without line and tag
    std::string source; // path of the source if it is not the user's program
};

struct CompileError {
    Diagnostic diagnostic;
};

[[noreturn]] void fail(Tag tag, Place at, std::string text);

} // namespace dt
