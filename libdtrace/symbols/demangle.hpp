// SPDX-License-Identifier: MIT
// Demangles C++ names and makes names safe to print.
//
// Symbol names come from untrusted files. A mangled name of 150 bytes can expand to
// gigabytes of output. Therefore this code computes an upper bound of the output's
// length before it passes a name to the C++ library, and a NameMatcher has a budget for
// all names that it tests. A name that exceeds a limit stays mangled. (The C++ library
// itself has limited the recursion depth since GCC 9.)
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

constexpr std::size_t max_mangled_bytes = 8192;
constexpr std::size_t max_demangled_bytes = 65536;
constexpr std::size_t max_matcher_bytes = std::size_t{64} << 20;

// Returns the demangled form. Returns nullopt if `name` is not a C++ name or exceeds a
// limit.
std::optional<std::string> demangle(std::string_view name);

// Returns the demangled form, or the name itself if demangle() returns nullopt. Each
// thread caches up to 16,384 results, because stacks repeat names.
std::string demangled_or_same(std::string_view name);

// Returns the qualified name alone, without return type, parameters and the text after
// them: "int ns::f<int>(char) const" -> "ns::f<int>".
std::string_view without_parameters(std::string_view demangled);

// Tests many symbol names against one pattern of a probe description. A name matches if
// the pattern matches its mangled form, its demangled form, or its demangled form
// without parameters.
class NameMatcher {
public:
    explicit NameMatcher(std::string_view pattern);
    bool matches(std::string_view name) const;

private:
    bool same(std::string_view text) const;

    std::string pattern_;
    bool glob_;
    // A sequence of letters in the pattern that must occur in every mangled name that
    // can match, because the demangler cannot produce it by itself. A name without the
    // sequence need not be demangled. Empty if there is no such sequence.
    std::string needle_;
    mutable std::size_t demangled_bytes_ = 0;
};

// Returns the name, escaped as in base/printable.hpp, and truncated with "..." after
// max_bytes.
std::string printable_name(std::string_view name, std::size_t max_bytes = 4096);

} // namespace dt
