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

// The C names of a program's probes, which must be unique.
class NamesInC {
public:
    // Returns "", or an error text if another probe has one of the names.
    std::string take(const ProviderBlock& block, const ProviderProbe& probe);

private:
    // from a C name to its probe, for example "shop:::start on line 3"
    std::map<std::string, std::string> owners_;
};

// Carried: the program contains the D text of the provider. Left: it does not (-x
// strip).
enum class Definitions { Carried, Left };

// Converts the provider's probes and argument types to C. Returns Code::invalid if a
// probe cannot be expressed in C.
Result<usdt::ProviderSource> provider_source(const ProviderBlock& block,
                                             TypeTable& types, Definitions definitions,
                                             NamesInC& names);

} // namespace dt
