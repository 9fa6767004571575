// SPDX-License-Identifier: MIT
// Stability attributes: how stable a name is, how stable its data are, and on which
// class of machines both exist.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dt {

enum class Stability {
    Internal,
    Private,
    Obsolete,
    External,
    Unstable,
    Evolving,
    Stable,
    Standard,
};

enum class DependencyClass { Unknown, Cpu, Platform, Group, Isa, Common };

struct Attributes {
    Stability name = Stability::Private;
    Stability data = Stability::Private;
    DependencyClass dependency = DependencyClass::Unknown;
    bool operator==(const Attributes&) const = default;
};

// The most stable attributes. A search for the weakest ones starts with them.
constexpr Attributes strongest_attributes{Stability::Standard, Stability::Standard,
                                          DependencyClass::Common};
// The attributes of most names that D defines, and of the names that a program defines.
constexpr Attributes stable_attributes{Stability::Stable, Stability::Stable,
                                       DependencyClass::Common};

// Returns, for each of the three parts, the less stable of the two values.
Attributes weakest(const Attributes& a, const Attributes& b);
// Returns whether any of the three parts is less stable than the same part of `least`.
bool is_below(const Attributes& attributes, const Attributes& least);

// The attributes of the five parts of a provider's probes.
struct ProviderAttributes {
    Attributes provider, module, function, name, args;
};

// Return the text of attributes: "Evolving", "ISA", "Evolving/Evolving/ISA".
const char* stability_name(Stability stability);
const char* class_name(DependencyClass dependency);
std::string attributes_text(const Attributes& attributes);
// Parses "Evolving/Evolving/ISA", in upper or lower case. Returns nullopt if the text
// is malformed.
std::optional<Attributes> parse_attributes(std::string_view text);

} // namespace dt
