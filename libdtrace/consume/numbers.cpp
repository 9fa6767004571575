// SPDX-License-Identifier: MIT
// The table of two-digit numbers.
#include "libdtrace/consume/numbers.hpp"

namespace dt {

const char two_digits[201] = "00010203040506070809101112131415161718192021222324"
                             "25262728293031323334353637383940414243444546474849"
                             "50515253545556575859606162636465666768697071727374"
                             "75767778798081828384858687888990919293949596979899";

} // namespace dt
