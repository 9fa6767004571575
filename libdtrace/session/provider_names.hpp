// SPDX-License-Identifier: MIT
// Whether the names of a provider block can be those of a program's provider. Blocks that
// only say how stable a provider is, such as `provider dtrace`, may have any.
#pragma once

#include "libdtrace/compile/diagnostic.hpp"
#include "libdtrace/compile/program.hpp"

#include <optional>

namespace dt {

// What is wrong, if anything is.
std::optional<Diagnostic> wrong_name(const ProviderBlock& block);

} // namespace dt
