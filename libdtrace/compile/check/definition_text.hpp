// SPDX-License-Identifier: MIT
// Writes a provider block as D text that compiles without any other text. A program
// with static probes contains this text, made from its provider.d.
//
//   types that the arguments use, provider block, #pragma D attributes
//
// Compiling the text gives the same definition again. If that is impossible because D
// cannot express a type (a packed struct, for example), or if the text would be longer
// than 64 KiB, all structs and unions are declared by name only, without members.
#pragma once

#include "libdtrace/compile/program.hpp"

#include <string>

namespace dt {

std::string definition_text(const ProviderBlock& block);
// Returns D text that describes all of a block, so different blocks have different
// texts. Unlike the result of definition_text(), the text need not compile.
std::string interface_text(const ProviderBlock& block);

} // namespace dt
