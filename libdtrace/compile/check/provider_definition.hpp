// SPDX-License-Identifier: MIT
// A provider's definition, compiled from D text. This text is usually in the file of
// the traced program. The definition contains the types of the probes' arguments, the
// mapping of native arguments to the arguments in D programs, and the stability
// attributes. It has its own type table (foreign_types.hpp).
#pragma once

#include "libdtrace/compile/compiler.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace dt {

struct ProviderDefinition {
    std::shared_ptr<const TypeTable> types;
    ProviderBlock block;

    // Finds a probe by its name, spelled either as in the program's ELF note or as in
    // D. Returns null if there is no such probe.
    const ProviderProbe* probe(std::string_view name) const;
    // Sets the attributes of the parts that the definition mentions, and does not
    // change the other parts.
    void set_attributes(ProviderAttributes& parts) const;
};

// Compiles untrusted text. If that fails, returns a string that says why.
std::variant<std::shared_ptr<const ProviderDefinition>, std::string>
read_definition(std::string_view provider, std::string_view text);

// Returns the type of each argument that D programs use, and the index of its native
// argument. If the probe has no translated list, D programs use the native arguments.
std::vector<ArgumentTypes::Defined> shown_arguments(const ProviderProbe& probe);

} // namespace dt
