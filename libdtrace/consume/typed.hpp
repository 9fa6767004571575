// SPDX-License-Identifier: MIT
// print(): a value with its type, as one would write it in C.
//
//   struct point {
//       int x = 0x1
//       char [4] tag = [ "abc" ]
//   }
//
// Bytes are the value's own copy; pointers in it are shown, never followed.
#pragma once

#include "libdtrace/compile/types.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace dt {

void put_typed(std::string& out, const Type* type, std::span<const std::byte> bytes);

} // namespace dt
