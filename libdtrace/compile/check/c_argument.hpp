// SPDX-License-Identifier: MIT
// Declares a probe argument in C for a generated header that includes none of the
// program's headers. Typedefs are replaced by their types, and structures are named by
// their tag. Enumerations, arrays and structures without a tag become void if a pointer
// leads to them. The data that a pointer leads to is const, because no probe writes.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <set>
#include <string>
#include <variant>

namespace dt {

struct CArgument {
    std::string form;        // usdt/provider_source.hpp
    std::string declaration; // "const struct connection *NAME"
};

// Adds the tags that the declaration names, such as "struct connection". The string
// says why the type cannot be an argument.
std::variant<CArgument, std::string> c_argument(const Type* type,
                                                const std::string& name,
                                                TypeTable& types,
                                                std::set<std::string>& tags);

} // namespace dt
