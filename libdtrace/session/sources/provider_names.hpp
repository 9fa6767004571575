// SPDX-License-Identifier: MIT
// Checks the names in a program's provider blocks. A block that only declares stability
// may have any name.
#pragma once

#include "libdtrace/compile/diagnostic.hpp"
#include "libdtrace/compile/program.hpp"

#include <optional>

namespace dt {

// Returns an error for the first invalid name, or nullopt.
std::optional<Diagnostic> wrong_name(const ProviderBlock& block);

} // namespace dt
