// SPDX-License-Identifier: MIT
// C's conversions and D's rules for compatible types.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>
#include <string_view>

namespace dt {

// Returns the node's type after integer promotion: types and bit-fields that are
// narrower than int become int.
const Type* promoted(const Node& node, TypeTable& types);

// Returns the type to which C's usual arithmetic conversions convert two integers. D
// computes the result in 64 bits, and truncates it only if wraps_below_64() is true for
// the type.
const Type* usual_conversion(const Node& left, const Node& right, TypeTable& types);

// Returns whether C defines the arithmetic of this promoted type modulo 2^32. This is
// true for the unsigned types of four bytes.
bool wraps_below_64(const Type* type);

bool is_void(const Type* type);
bool is_dynamic(const Type* type);
bool is_array(const Type* type);
// Returns whether the type is a struct or union whose body has not been defined yet.
bool is_incomplete(const Type* type);
bool is_void_pointer(const Type* type);
bool is_function_pointer(const Type* type);
// Returns whether the type is marked userland or is a pointer to such a type.
bool is_userland(const Type* type);

// Returns the pointee of a pointer or the element type of an array, else null.
const Type* pointee(const Type* type);
// Returns the step of pointer arithmetic in bytes. The step of void * is 1.
std::uint64_t step_of(const Type* pointer);

// Returns whether the node is the integer constant 0 or NULL.
bool is_null_constant(const Node& node);

// Returns whether the types are the same, ignoring qualifiers and typedefs.
bool same_type(const Type* a, const Type* b);
// Returns whether values of these pointer (or array) types may be compared with and
// assigned to each other.
bool pointers_compatible(const Type* a, const Type* b);
// Returns whether the argument may be passed for a parameter of this type.
bool accepts(const Type* parameter, const Node& argument);
// Returns whether the value may be assigned to a variable of this type. An integer
// variable accepts no pointer. An array (except of char) accepts only an array of its
// own type.
bool assignable(const Type* target, const Node& value);

// Returns whether values of this type can be keys of an associative array.
bool is_key_type(const Type* type);

// Returns the type's name in double quotes, for messages.
std::string quoted(const Type* type);
std::string node_type_text(const Node& node);

} // namespace dt
