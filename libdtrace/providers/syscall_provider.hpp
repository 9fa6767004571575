// SPDX-License-Identifier: MIT
// The syscall provider: entry and return of every system call by its name.
//
// The probes fire in the kernel module, for all processes. Without the module, they fire
// in the targets that the user has named (SyscallSites). If the user has named none, they
// fire in the consumer, after the kernel has recorded the calls of all processes
// (MachineProbes).
#pragma once

#include "libdtrace/compile/compiler.hpp"
#include "libdtrace/providers/kernel_provider.hpp"
#include "libdtrace/providers/syscall_sites.hpp"

#include <functional>
#include <vector>

namespace dt {

class SyscallProvider : public KernelProvider {
public:
    // is_usable() returns whether the probes can fire without the kernel module.
    SyscallProvider(Registry& registry, std::function<bool()> is_usable)
        : registry_(registry), is_usable_(std::move(is_usable))
    {
    }
    std::string name() const override { return "syscall"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    std::vector<KernelSite> sites(const ProbeInfo& probe) override;
    // Returns the types of a probe's arguments. The caller must set written_in. Errors:
    // Code::not_found if tracefs is not mounted, Code::permission if tracefs is
    // unreadable.
    Result<ArgumentTypes> argument_types(const ProbeInfo& probe) const;
    std::vector<CallProbe> enabled() const;
    // Returns the same probes by the number of the system call.
    CallProbes call_probes() const;

    bool in_kernel = false; // the kernel module can be used

private:
    Registry& registry_;
    std::function<bool()> is_usable_;
    std::vector<CallProbe> known_; // all probes
};

} // namespace dt
