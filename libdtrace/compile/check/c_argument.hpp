// SPDX-License-Identifier: MIT
// An argument of a probe as C declares it in a header that knows no header of the program:
// typedefs are what they stand for, structures are named by their tag, and what has no tag,
// enumerations and arrays are void behind their pointer. What a pointer leads to is const,
// since no probe writes.
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

// Adds the tags that it names: "struct connection". A text says why the type is no
// argument.
std::variant<CArgument, std::string> c_argument(const Type* type,
                                                const std::string& name,
                                                TypeTable& types,
                                                std::set<std::string>& tags);

} // namespace dt
