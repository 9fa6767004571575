// SPDX-License-Identifier: MIT
// Macro variables. $1 and $$1 are arguments of the program. The values of other macros,
// such as $target and $pid, come from the session.
//
// The option argref permits arguments that the program does not use. With the option
// defaultargs, a missing argument is 0, or "" for $$n. Without these options, unused
// and missing arguments are errors.
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
        // number of characters, including the $; 0 if there is no macro
        std::size_t length = 0;
        bool as_string = false;   // the macro starts with two dollar signs
        std::string_view name;    // without the $
        bool is_argument = false; // the name consists of digits
    };
    // Scans the name at the start of the text, which must begin with '$'.
    static Name scan(std::string_view text);

    // Returns the value of a macro as text. Fails with MACRO_UNDEF if there is no such
    // macro.
    std::string value(const Name& name, Place at);
    // Replaces the macros in a probe description with their values. Fails with
    // PDESC_INVAL if there is no such macro.
    std::string expand(std::string_view description, Place at);

    // Throws MACRO_UNUSED for the first argument that the program does not use.
    void check_all_used() const;

private:
    bool find(const Name& name, std::string& value);

    const CompileOptions& options_;
    std::vector<bool> referenced_;
};

} // namespace dt
