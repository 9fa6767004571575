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

// The names that the probes of all providers of a program have in C. Two probes cannot
// have the same one.
class NamesInC {
public:
    // Reserves the names of a probe. Returns "", or a text with the name that another
    // probe has already.
    std::string take(const ProviderBlock& block, const ProviderProbe& probe);

private:
    std::map<std::string, std::string> owners_; // "shop:::start of line 3"
};

// Whether the D text of the provider is put into the program (not with -x strip).
enum class Definitions { Carried, Left };

// Returns the provider in terms of C. invalid: C code cannot have one of the probes.
// The sentence names the probe and its line.
Result<usdt::ProviderSource> provider_source(const ProviderBlock& block,
                                             TypeTable& types, Definitions definitions,
                                             NamesInC& names);

} // namespace dt
