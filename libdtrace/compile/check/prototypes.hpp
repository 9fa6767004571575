// SPDX-License-Identifier: MIT
// Prototypes of subroutines and actions, as dif/ writes them: "string(const char *,
// int, [int])". "@" is any type, "..." any number of any type, brackets an optional one.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct Parameter {
    std::string text;           // "const char *", for messages
    const Type* type = nullptr; // null: any
};

struct Prototype {
    const Type* result = nullptr;
    std::vector<Parameter> parameters;
    std::size_t n_required = 0;
    bool varargs = false;
};

Prototype parse_prototype(std::string_view text, TypeTable& types);

// "const struct foo *" to a type; null when a name in it is unknown.
const Type* parse_type_text(std::string_view text, TypeTable& types);

} // namespace dt
