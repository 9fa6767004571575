// SPDX-License-Identifier: MIT
// A diagnostic of the D compiler: a tag, a place and one sentence. The compiler throws
// it as a CompileError, which compile() (compiler.hpp) catches.
#pragma once

#include "libdtrace/compile/tags.hpp"

#include <string>

namespace dt {

struct Place {
    int line = 0;   // counted from 1, or set by #line; 0 if unknown
    int column = 0; // counted from 1; 0 if unknown
    // The line number in the text, counted from 1. #line does not change it. 0 if
    // `line` contains this number.
    int text_line = 0;
    // The name of the D library or included file (from #line) that contains the place.
    // Null if the place is in the program itself. The session owns the name and never
    // frees it.
    const std::string* file = nullptr;
    bool c_header = false; // the file is a C header that the preprocessor included

    int line_of_text() const { return text_line > 0 ? text_line : line; }
};

struct Diagnostic {
    Tag tag = Tag::UNKNOWN;
    Place at;
    std::string text;   // worded as in classic DTrace, without the line and the tag
    std::string source; // path of the source text, if that is not the user's program
};

struct CompileError {
    Diagnostic diagnostic;
};

[[noreturn]] void fail(Tag tag, Place at, std::string text);

} // namespace dt
