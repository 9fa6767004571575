// SPDX-License-Identifier: MIT
// A provider block as text that stands alone: what a program carries of its provider.d.
//
//   types that the arguments lead to, provider block, #pragma D attributes
//
// What the text says is what a compiler makes of it again: types that D text cannot say
// (packed, aligned otherwise) are named there without what is in them, and so is all when
// it would be much.
#pragma once

#include "libdtrace/compile/program.hpp"

#include <string>

namespace dt {

std::string definition_text(const ProviderBlock& block);
// The same without a look at whether it can be read: blocks that differ have others.
std::string interface_text(const ProviderBlock& block);

} // namespace dt
