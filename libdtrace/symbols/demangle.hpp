// SPDX-License-Identifier: MIT
// C++ names as people write them, and names made safe to print.
//
// Symbol names come from files that nobody vouches for. A mangled name of 150 bytes can
// stand for gigabytes of output, so a bound of the output is computed before the C++
// library sees a name, and a matcher of many names has a budget. A name that breaks a
// limit stays mangled. (Depth is limited by the C++ library itself since GCC 9.)
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace dt {

constexpr std::size_t max_mangled_bytes = 8192;
constexpr std::size_t max_demangled_bytes = 65536;
constexpr std::size_t max_matcher_bytes = std::size_t{64} << 20;

// The demangled form, or nothing when `name` is not a C++ name (or breaks a limit).
std::optional<std::string> demangle(std::string_view name);

// As above, and the name itself when it is not a C++ name. Remembered per thread, for the
// few thousand names that stacks repeat.
std::string demangled_or_same(std::string_view name);

// The qualified name alone, without return type, parameters and what follows them:
// "int ns::f<int>(char) const" -> "ns::f<int>".
std::string_view without_parameters(std::string_view demangled);

// Tests many symbol names against one pattern of a probe description. A name matches by
// its mangled form, its demangled form, or the latter without parameters.
class NameMatcher {
public:
    explicit NameMatcher(std::string_view pattern);
    bool matches(std::string_view name) const;

private:
    bool same(std::string_view text) const;

    std::string pattern_;
    bool glob_;
    // Letters that stand in the pattern and so in every mangled name that can match it,
    // because no demangler makes them up. Empty: no such letters. Spares demangling.
    std::string needle_;
    mutable std::size_t demangled_bytes_ = 0;
};

// Returns the name as base/printable.hpp escapes names, truncated after max_bytes with
// "...".
std::string printable_name(std::string_view name, std::size_t max_bytes = 4096);

} // namespace dt
