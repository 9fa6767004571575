// SPDX-License-Identifier: MIT
// C++ names as people write them, and names made safe to print.
//
// Symbol names come from files that nobody vouches for. A short mangled name can stand
// for gigabytes of output, so the demangler is fed through a callback that stops it at
// demangled_bytes; a name that is longer than mangled_bytes is left as it is.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

constexpr std::size_t max_mangled_bytes = 8192;
constexpr std::size_t max_demangled_bytes = 16384;

// The demangled form, or nothing when `name` is not a C++ name (or breaks a limit).
std::optional<std::string> demangle(std::string_view name);

// As above, and the name itself when it is not a C++ name. Cached (per thread), for the
// few thousand names that stacks repeat.
const std::string& demangled_or_same(std::string_view name);

// "ns::f(int) const" -> "ns::f": the part before the parameters. The whole of a name
// without parameters.
std::string_view without_parameters(std::string_view demangled);

// Whether `name`, its demangled form or that without parameters matches `glob`.
bool name_matches(std::string_view glob, std::string_view name);

// Control bytes, DEL and backslash as \ooo, cut after max_bytes with "...".
std::string printable_name(std::string_view name, std::size_t max_bytes = 4096);

} // namespace dt
