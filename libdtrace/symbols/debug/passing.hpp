// SPDX-License-Identifier: MIT
// How a value of a type is passed as an argument, as far as debug data says it.
#pragma once

namespace dt {

// What neither the kind of a type nor its members say (System V psABI, 3.2.3).
enum class Passing {
    ByMembers,
    ByReference,   // as its address: classes of C++ that are not trivial
    IntegerWords,  // a register for each word: __int128
    FloatRegister, // one, whatever the size: __m128, _Float128, _Complex float
    FloatWords,    // one for each word: _Complex double
    X87,           // in memory; returned in registers: _Complex long double
    Unknown,       // the compiler's flags decide, or a language's own rules
};

} // namespace dt
