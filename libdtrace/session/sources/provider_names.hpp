// SPDX-License-Identifier: MIT
// Checks the names of a program's provider blocks. A block that only declares the
// stability of a provider, such as `provider dtrace`, may have any name.
#pragma once

#include "libdtrace/compile/diagnostic.hpp"
#include "libdtrace/compile/program.hpp"

#include <optional>

namespace dt {

// Returns an error for the first invalid name in the block. Returns nullopt if all
// names are valid.
std::optional<Diagnostic> wrong_name(const ProviderBlock& block);

} // namespace dt
