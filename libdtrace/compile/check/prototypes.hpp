// SPDX-License-Identifier: MIT
// Prototypes of subroutines and actions, in the notation of the tables in dif/, such as
// "string(const char *, int, [int])". "@" stands for any type, and "..." for any number
// of arguments of any type. Brackets mark an optional argument.
#pragma once

#include "libdtrace/compile/types/types.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace dt {

struct Parameter {
    std::string text;           // "const char *", for messages
    const Type* type = nullptr; // null: any type
};

struct Prototype {
    const Type* result = nullptr;
    std::vector<Parameter> parameters;
    std::size_t n_required = 0;
    bool varargs = false;
};

Prototype parse_prototype(std::string_view text, TypeTable& types);

// Parses a type such as "const struct foo *". Returns null if it contains an unknown
// name.
const Type* parse_type_text(std::string_view text, TypeTable& types);

} // namespace dt
