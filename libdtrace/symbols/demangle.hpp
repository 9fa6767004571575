// SPDX-License-Identifier: MIT
// Demangles C++ names and makes names safe to print.
//
// Symbol names come from untrusted files. A mangled name of 150 bytes can expand to
// gigabytes. So the length of the output is estimated first, and a NameMatcher has a
// budget for all names that it tests. A name that exceeds a limit stays mangled. The
// C++ library has limited the recursion depth since GCC 9.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

constexpr std::size_t max_mangled_bytes = 8192;
constexpr std::size_t max_demangled_bytes = 65536;
constexpr std::size_t max_matcher_bytes = std::size_t{64} << 20;

// Returns nullopt if `name` is not a C++ name or exceeds a limit.
std::optional<std::string> demangle(std::string_view name);

// Removes the return type, the parameters and the text after the parameters: "int
// ns::f<int>(char) const" becomes "ns::f<int>".
std::string_view without_parameters(std::string_view demangled);

// Tests symbol names against one pattern: the mangled form, the demangled form, and the
// demangled form without parameters.
class NameMatcher {
public:
    explicit NameMatcher(std::string_view pattern);
    bool matches(std::string_view name) const;

private:
    bool same(std::string_view text) const;

    std::string pattern_;
    bool glob_;
    // A word that each matching mangled name must contain, or "". Names without the
    // word need not be demangled.
    std::string needle_;
    mutable std::size_t demangled_bytes_ = 0;
};

// Returns the escaped name (base/printable.hpp), truncated with "..." after max_bytes.
std::string printable_name(std::string_view name, std::size_t max_bytes = 4096);

} // namespace dt
