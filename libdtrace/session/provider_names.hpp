// SPDX-License-Identifier: MIT
// Checks the names of a program's provider blocks. A block that only declares how
// stable a provider is, such as `provider dtrace`, may have any name.
#pragma once

#include "libdtrace/compile/diagnostic.hpp"
#include "libdtrace/compile/program.hpp"

#include <optional>

namespace dt {

// Returns what is wrong with a name of the block. Returns nothing if all names are
// valid.
std::optional<Diagnostic> wrong_name(const ProviderBlock& block);

} // namespace dt
