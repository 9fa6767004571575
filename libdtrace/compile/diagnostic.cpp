// SPDX-License-Identifier: MIT
// The only function that throws a CompileError.
#include "libdtrace/compile/diagnostic.hpp"

#include <utility>

namespace dt {

void fail(Tag tag, Place at, std::string text)
{
    throw CompileError{Diagnostic{tag, at, std::move(text), {}}};
}

} // namespace dt
