// SPDX-License-Identifier: MIT
// A diagnostic of the D compiler: tag, place, one plain sentence.
//
// The compiler's own code throws CompileError from deep inside an expression; nothing
// else does, and compile() (compiler.hpp) turns it into a value at its border.
#pragma once

#include "libdtrace/compile/tags.hpp"

#include <string>

namespace dt {

struct Place {
    int line = 0;      // from 1, as #line counts; 0: no position
    int column = 0;    // from 1; 0: unknown
    int text_line = 0; // as the text's newlines count; 0: no #line, the same as line
    // Of a D library, or an included file as #line names it; null: the program's own. The
    // session's names, which stay.
    const std::string* file = nullptr;
    bool c_header = false; // which the preprocessor included

    int line_of_text() const { return text_line > 0 ? text_line : line; }
};

struct Diagnostic {
    Tag tag = Tag::UNKNOWN;
    Place at;
    std::string text;   // as classic DTrace words it, without line and tag
    std::string source; // path when it is not the user's program
};

struct CompileError {
    Diagnostic diagnostic;
};

[[noreturn]] void fail(Tag tag, Place at, std::string text);

} // namespace dt
