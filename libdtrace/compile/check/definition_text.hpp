// SPDX-License-Identifier: MIT
// Writes a provider block as D text that compiles without any other text. The text
// contains the types of the arguments, the block, and #pragma D attributes. A program
// with static probes contains this text.
//
// If D cannot express a type (a packed struct, for example), or if the text would
// exceed 64 KiB, all structs and unions are declared without members.
#pragma once

#include "libdtrace/compile/program.hpp"

#include <string>

namespace dt {

std::string definition_text(const ProviderBlock& block);
// Returns D text that describes the entire block, so different blocks have different
// texts. The text need not compile.
std::string interface_text(const ProviderBlock& block);

} // namespace dt
