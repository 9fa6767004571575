// SPDX-License-Identifier: MIT
// Converts provider blocks to the form that usdt/ writes into headers and objects.
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/program.hpp"
#include "usdt/provider_source.hpp"

#include <map>
#include <string>
#include <vector>

namespace dt {

// The C names of the probes of all providers of a program. Two probes must not have the
// same C name.
class NamesInC {
public:
    // Reserves the C names of a probe. Returns "" on success, or an error text if
    // another probe already has one of the names.
    std::string take(const ProviderBlock& block, const ProviderProbe& probe);

private:
    std::map<std::string, std::string> owners_; // "shop:::start on line 3"
};

// Whether the D text of the provider is stored in the program (Carried) or omitted
// (Left, with -x strip).
enum class Definitions { Carried, Left };

// Converts the provider's probes and argument types to C. Returns the error invalid if
// one of the probes cannot be expressed in C. The error text names the probe and its
// line.
Result<usdt::ProviderSource> provider_source(const ProviderBlock& block,
                                             TypeTable& types, Definitions definitions,
                                             NamesInC& names);

} // namespace dt
