// SPDX-License-Identifier: MIT
// Converts the C type of a system call's argument, such as the text "const struct iovec
// *", to a D type. A name in the text denotes the kernel's type, even if the D program
// declares a different type of that name. Pointers refer to the memory of the process,
// so they are userland.
#pragma once

#include "libdtrace/compile/types/target_types.hpp"

#include <string_view>

namespace dt {

// Converts the text. `in` contains the kernel's types. in->place() must be Process, so
// that pointers in structs also refer to the memory of the process. If `in` is null,
// only D's types are known. A pointer to an unknown type becomes a pointer to void. Any
// other unknown type becomes long.
const Type* written_type(std::string_view text, DebugTypes* in, TargetTypes& types);

} // namespace dt
