// SPDX-License-Identifier: MIT
// C's conversions and D's compatibility, as predicates on types and checked nodes.
#pragma once

#include "libdtrace/compile/ast.hpp"

#include <string>
#include <string_view>

namespace dt {

// Integer promotion: at least int. A bit-field narrower than int is an int.
const Type* promoted(const Node& node, TypeTable& types);

// The type of C's usual arithmetic conversions of two integers. It decides signedness and
// the width of what is recorded. D evaluates in 64 bits, except that values of a type for
// which wraps_below_64() is true are kept within that type.
const Type* usual_conversion(const Node& left, const Node& right, TypeTable& types);

// Returns whether C defines the arithmetic of this promoted type modulo less than 2^64:
// unsigned int, and unsigned long with -32. C does not define overflow of a signed
// type; D keeps its 64-bit result.
bool wraps_below_64(const Type* type);

bool is_void(const Type* type);
bool is_dynamic(const Type* type);
bool is_array(const Type* type);
// A struct or union whose body nobody has seen yet.
bool is_incomplete(const Type* type);
bool is_void_pointer(const Type* type);
bool is_function_pointer(const Type* type);
// Marked userland itself, or a pointer to what is.
bool is_userland(const Type* type);

// The pointee of a pointer or the element of an array, else null.
const Type* pointee(const Type* type);
// What pointer arithmetic steps by; void counts as one byte.
std::uint64_t step_of(const Type* pointer);

// The integer constant 0, or NULL.
bool is_null_constant(const Node& node);

// Same type, ignoring qualifiers and typedefs; const char is char.
bool same_type(const Type* a, const Type* b);
// May values of these pointer (or array) types be compared and assigned?
bool pointers_compatible(const Type* a, const Type* b);
// May the argument be passed where the parameter's type is wanted?
bool accepts(const Type* parameter, const Node& argument);
// The same for a variable: an integer variable takes no pointer, an array only its like.
bool assignable(const Type* target, const Node& value);

// Can be pushed as a key of an associative array.
bool is_key_type(const Type* type);

// "int" with quotes, and what a node is called in messages about its type.
std::string quoted(const Type* type);
std::string node_type_text(const Node& node);

} // namespace dt
