// SPDX-License-Identifier: MIT
// A provider's definition as a program carries it, compiled: the types of its probes'
// arguments, which argument is which, how stable all is.
//
// It has types of its own, which have nothing to do with those of the session that reads
// it (foreign_types.hpp).
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

    // By the name in a note or in D. Null: it has no such probe.
    const ProviderProbe* probe(std::string_view name) const;
    // Those of the parts that it speaks of.
    void set_attributes(ProviderAttributes& parts) const;
};

// The text may be anything. A sentence says what is wrong with it.
std::variant<std::shared_ptr<const ProviderDefinition>, std::string>
read_definition(std::string_view provider, std::string_view text);

// As the probe shows its arguments: which they are of those that the program passes, and
// of which types. Without names those of the native ones.
std::vector<ArgumentTypes::Defined> shown_arguments(const ProviderProbe& probe);

} // namespace dt
