// SPDX-License-Identifier: MIT
// The syscall provider: entry and return of every system call by its name.
#pragma once

#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/providers/kernel_provider.hpp"

namespace dt {

class SyscallProvider : public KernelProvider {
public:
    explicit SyscallProvider(Registry& registry) : registry_(registry) {}
    std::string name() const override { return "syscall"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    std::vector<KernelSite> sites(const ProbeInfo& probe) override;
    // Returns the types of a probe's arguments. The caller must set written_in. Errors:
    // Code::not_found if tracefs is not mounted, Code::permission if tracefs is
    // unreadable.
    Result<ArgumentTypes> argument_types(const ProbeInfo& probe) const;

private:
    Registry& registry_;
};

} // namespace dt
