// SPDX-License-Identifier: MIT
// Writes a provider block as a text that compiles on its own. A program carries this
// text of its provider.d.
//
//   types that the arguments use, provider block, #pragma D attributes
//
// Compiling the text again gives the same definition. Types that D text cannot express
// (packed ones, or ones with another alignment) are declared by name only, without
// members. The same applies to all types if the text would be long.
#pragma once

#include "libdtrace/compile/program.hpp"

#include <string>

namespace dt {

std::string definition_text(const ProviderBlock& block);
// Returns the text without checking that it compiles. Blocks that differ have different
// texts.
std::string interface_text(const ProviderBlock& block);

} // namespace dt
