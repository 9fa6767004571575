// SPDX-License-Identifier: MIT
// Provider blocks of programs as usdt/ writes them into headers and objects.
#pragma once

#include "base/result.hpp"
#include "libdtrace/compile/program.hpp"
#include "usdt/provider_source.hpp"

#include <map>
#include <string>
#include <vector>

namespace dt {

// What the probes of a program's providers, all of them, have in C: the first that has a
// name keeps it.
class NamesInC {
public:
    // Empty, or the name that another has, and which one.
    std::string take(const ProviderBlock& block, const ProviderProbe& probe);

private:
    std::map<std::string, std::string> owners_; // "shop:::start of line 3"
};

enum class Definitions { Carried, Left };

// invalid: a probe that C code cannot have; the sentence names it and its line.
Result<usdt::ProviderSource> provider_source(const ProviderBlock& block,
                                             TypeTable& types, Definitions definitions,
                                             NamesInC& names);

} // namespace dt
