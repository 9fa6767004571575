// SPDX-License-Identifier: MIT
// Stability: how much a name, what it stands for, and its class of machine can be relied on.
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

// Nothing is more stable: where a search for the weakest begins.
constexpr Attributes strongest_attributes{Stability::Standard, Stability::Standard,
                                          DependencyClass::Common};
// Of what D itself promises, and of a program's own names.
constexpr Attributes stable_attributes{Stability::Stable, Stability::Stable,
                                       DependencyClass::Common};

// Part by part the less stable one.
Attributes weakest(const Attributes& a, const Attributes& b);
// Is any part less stable than that of the least that will do?
bool is_below(const Attributes& attributes, const Attributes& least);

// Of the five parts of a provider's probes.
struct ProviderAttributes {
    Attributes provider, module, function, name, args;
};

const char* stability_name(Stability stability);           // "Evolving"
const char* class_name(DependencyClass dependency);        // "ISA"
std::string attributes_text(const Attributes& attributes); // "Evolving/Evolving/ISA"
// The same backwards, in letters of either case; nothing when it is malformed.
std::optional<Attributes> parse_attributes(std::string_view text);

} // namespace dt
