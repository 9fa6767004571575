// SPDX-License-Identifier: MIT
// The dtrace provider: BEGIN, END and ERROR. The session fires BEGIN before all other
// probes and END after them. The engine fires ERROR after a fault in a clause.
#pragma once

#include "libdtrace/providers/provider.hpp"

namespace dt {

class DtraceProvider : public Provider {
public:
    explicit DtraceProvider(Registry& registry);
    std::string name() const override { return "dtrace"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec&) override { return {}; }
};

} // namespace dt
