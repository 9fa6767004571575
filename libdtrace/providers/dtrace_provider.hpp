// SPDX-License-Identifier: MIT
// The dtrace provider: BEGIN fires before all other probes, END after them, ERROR after
// a fault in a clause. The session fires the first two, the engine the third.
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
