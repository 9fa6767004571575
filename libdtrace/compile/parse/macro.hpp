// SPDX-License-Identifier: MIT
// Macro variables: $1 and $$1 from the arguments, $target and $pid from the session.
//
// An argument that the program does not use is an error at the end of the program
// (unless argref). A use of a missing argument is an error immediately (unless
// defaultargs: its value is then 0, or "" in string form).
#pragma once

#include "libdtrace/compile/compiler.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

class Macros {
public:
    explicit Macros(const CompileOptions& options)
        : options_(options), referenced_(options.macro_args.size(), false)
    {
    }

    struct Name {
        std::size_t length = 0;   // characters read, including the $; 0: no macro
        bool as_string = false;   // two dollars
        std::string_view name;    // without $
        bool is_argument = false; // digits
    };
    // Scans the name at the start of a text that begins with '$'.
    static Name scan(std::string_view text);

    // Returns the value as text. Fails with MACRO_UNDEF if there is none.
    std::string value(const Name& name, Place at);
    // Replaces the macros in a description. Fails with PDESC_INVAL, which quotes the
    // description.
    std::string expand(std::string_view description, Place at);

    // Throws MACRO_UNUSED for the first argument that the program does not use.
    void check_all_used() const;

private:
    bool find(const Name& name, std::string& value);

    const CompileOptions& options_;
    std::vector<bool> referenced_;
};

} // namespace dt
