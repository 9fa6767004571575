// SPDX-License-Identifier: MIT
// Converts the C text of a system call's argument, such as "const struct iovec *", to a
// D type. The name denotes the kernel's type, even if the program has another type of
// that name. The data that a pointer leads to are in the process, so the type is
// userland, as are pointers inside it.
#pragma once

#include "libdtrace/compile/types/target_types.hpp"

#include <string_view>

namespace dt {

// in: types of a process (DebugTypes::place()); null: only D's own types are known. An
// unknown type becomes void behind a pointer, and otherwise a long.
const Type* written_type(std::string_view text, DebugTypes* in, TargetTypes& types);

} // namespace dt
