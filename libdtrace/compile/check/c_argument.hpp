// SPDX-License-Identifier: MIT
// Declares a probe argument in C for a generated header that includes none of the
// program's headers. Typedefs are replaced with their types. If C cannot declare the
// pointee without its body, the pointer becomes a pointer to void. Pointees are const,
// because probes do not write.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <set>
#include <string>
#include <variant>

namespace dt {

struct CArgument {
    std::string form;        // size and kind, as in usdt/provider_source.hpp
    std::string declaration; // "const struct connection *NAME"
};

// Returns the declaration of an argument, or a string that says why the type cannot be
// an argument. Adds the tags that the declaration uses, such as "struct connection", to
// the set.
std::variant<CArgument, std::string> c_argument(const Type* type,
                                                const std::string& name,
                                                TypeTable& types,
                                                std::set<std::string>& tags);

} // namespace dt
