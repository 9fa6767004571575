// SPDX-License-Identifier: MIT
// The arguments of a probe: their names, types, and locations (registers or memory).
#pragma once

#include "libdtrace/compile/check/argument_places.hpp"
#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/compile/types/foreign_types.hpp"
#include "libdtrace/compile/types/target_types.hpp"

#include <string>
#include <vector>

namespace dt {

struct Argument {
    std::string name; // may be empty
    const Type* type = nullptr;
    ArgumentPlace place;
    // the type from which a translator converts; null if no translator is needed
    const Type* native = nullptr;
};

// Returns the arguments that a provider declares for a probe.
std::vector<Argument> arguments_of(const ArgumentTypes& said, TargetTypes& types,
                                   ForeignTypes& foreign);
// Returns the arguments of a function's probe. An entry probe has the function's
// parameters. A return probe has the offset of the return site. If the function does
// not return void, the return probe also has the result.
std::vector<Argument> arguments_of(const ProbedFunction& probed, TargetTypes& types,
                                   TypeTable& table);

} // namespace dt
