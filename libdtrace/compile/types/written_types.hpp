// SPDX-License-Identifier: MIT
// Converts the C type of a system call's argument, such as "const struct iovec *", to a
// D type. Pointers become userland pointers.
#pragma once

#include "libdtrace/compile/types/target_types.hpp"

#include <string_view>

namespace dt {

// Converts the type with the kernel's types in `in`, or only with D's types if `in` is
// null. An unknown type becomes long. A pointer to an unknown type becomes a pointer to
// void.
const Type* written_type(std::string_view text, DebugTypes* in, TargetTypes& types);

} // namespace dt
