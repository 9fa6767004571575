// SPDX-License-Identifier: MIT
// Provider blocks of programs as usdt/ writes them into headers and objects.
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/program.hpp"
#include "usdt/provider_source.hpp"

#include <vector>

namespace dt {

enum class Definitions { Carried, Left };

// invalid: a probe that C code cannot have; the sentence names it and its line.
Result<usdt::ProviderSource> provider_source(const ProviderBlock& block,
                                             TypeTable& types, Definitions definitions);

} // namespace dt
