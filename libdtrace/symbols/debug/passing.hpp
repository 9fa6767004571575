// SPDX-License-Identifier: MIT
// How values of a type are passed as arguments, as far as debug data record it.
#pragma once

#include <cstdint>

namespace dt {

// How a value is passed (System V psABI, 3.2.3). ByMembers: the kind of the type and
// its members determine it.
enum class Passing : std::uint8_t {
    ByMembers,
    ByReference,   // by address, like non-trivial classes of C++
    IntegerWords,  // one integer register for each word, like __int128
    FloatRegister, // one SSE register for any size, like __m128 and _Complex float
    FloatWords,    // one SSE register for each word, like _Complex double
    X87,           // in memory, but returned in registers, like _Complex long double
    Unknown,       // depends on the compiler's flags or on the language's own rules
};

} // namespace dt
