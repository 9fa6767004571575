// SPDX-License-Identifier: MIT
// Stability: how much a name, what it stands for, and its class of machine can be relied on.
#pragma once

#include <string>

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
};

// Part by part the less stable one.
Attributes weakest(const Attributes& a, const Attributes& b);

// Of the five parts of a provider's probes.
struct ProviderAttributes {
    Attributes provider, module, function, name, args;
};

const char* stability_name(Stability stability);           // "Evolving"
const char* class_name(DependencyClass dependency);        // "ISA"
std::string attributes_text(const Attributes& attributes); // "Evolving/Evolving/ISA"

} // namespace dt
