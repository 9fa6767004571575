// SPDX-License-Identifier: MIT
// The dtrace provider. BEGIN fires before all other probes, END fires after them, and
// ERROR fires after a fault in a clause. The session fires BEGIN and END, and the
// engine fires ERROR.
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
