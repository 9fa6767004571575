// SPDX-License-Identifier: MIT
// What C writes of an argument of a system call, "const struct iovec *", as a D type. The
// kernel has the type's name, whatever a program calls so, and the process what a pointer
// leads to: it is userland, and so are the pointers in there.
#pragma once

#include "libdtrace/compile/types/target_types.hpp"

#include <string_view>

namespace dt {

// in: types whose place is a process (DebugTypes::place()); null: D's own alone are known. A
// type that is not known is void behind a pointer, and a long by itself.
const Type* written_type(std::string_view text, DebugTypes* in, TargetTypes& types);

} // namespace dt
