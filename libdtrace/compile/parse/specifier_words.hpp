// SPDX-License-Identifier: MIT
// The words in one list of specifiers. Parser::finish_specifiers() checks their
// combination.
#pragma once

#include "libdtrace/compile/parse/lexer.hpp"
#include "libdtrace/compile/types/types.hpp"

namespace dt {

struct SpecifierWords {
    int n_long = 0;
    bool is_short = false, is_signed = false, is_unsigned = false;
    bool is_const = false, is_volatile = false, userland = false;
    bool is_complex = false, is_int128 = false, is_atomic = false;
    Key word = Key::None;       // void, char, int, float or double, if given
    const Type* type = nullptr; // a struct, union, enum, typedef or string, if given
    Place at;

    bool has_type() const { return type != nullptr || word != Key::None || is_int128; }
    bool has_attributes() const
    {
        return n_long > 0 || is_short || is_signed || is_unsigned || is_complex;
    }
};

} // namespace dt
