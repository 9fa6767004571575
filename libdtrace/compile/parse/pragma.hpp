// SPDX-License-Identifier: MIT
// Handles control lines: #pragma, #line, #error, #ident, and `# 12 "file"` from cpp.
//
// Options that affect the compiler take effect before the program is parsed
// (scan_options()). While the text is parsed, this class passes each option to the
// session, checks dependencies, and applies #line and #pragma pack. It stores the D
// pragmas in the Unit, and the checker uses them.
#pragma once

#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/parse/c_pack.hpp"
#include "libdtrace/compile/parse/lexer.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

class Pragmas {
public:
    // Returns the session's copy of a file name.
    using Files = std::function<const std::string*(std::string_view)>;
    Pragmas(const CompileOptions& options, Unit& unit, Files files)
        : options_(options), unit_(unit), files_(std::move(files))
    {
    }

    // Handles one line, which is passed without its '#'. Throws a CompileError with a
    // PRAG* tag.
    void control(std::string_view line, Place at, Lexer& lexer);

    const Packing& packing() const { return packing_; }

private:
    struct Words;

    void set_line(Words& words, std::string_view number, Place at, Lexer& lexer);
    void pragma(Words words, Place at, Lexer& lexer);
    void d_pragma(Words words, Place at);
    void option(Words& words, Place at);
    void attributes(Words& words, Place at);
    void binding(Words& words, Place at);
    void depends_on(Words& words, Place at);

    const CompileOptions& options_;
    Unit& unit_;
    Files files_;
    Packing packing_;
};

} // namespace dt
