// SPDX-License-Identifier: MIT
// Macro variables: $1 and $$1 from the arguments, $target and $pid from the session.
//
// An argument that the program does not reference is an error when the program ends
// (unless argref), one that it references without having it is one at once (unless
// defaultargs: then it is 0, or "" in string form).
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
        std::size_t length = 0;   // characters taken, dollars included; 0: no macro
        bool as_string = false;   // two dollars
        std::string_view name;    // without dollars
        bool is_argument = false; // digits
    };
    // What stands at the start of text, which begins with '$'.
    static Name scan(std::string_view text);

    // The value as text. MACRO_UNDEF when there is none.
    std::string value(const Name& name, Place at);
    // For descriptions: PDESC_INVAL with the whole description instead.
    std::string expand(std::string_view description, Place at);

    // Throws MACRO_UNUSED for the first argument without a reference.
    void check_all_used() const;

private:
    bool find(const Name& name, std::string& value);

    const CompileOptions& options_;
    std::vector<bool> referenced_;
};

} // namespace dt
