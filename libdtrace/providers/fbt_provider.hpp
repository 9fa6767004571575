// SPDX-License-Identifier: MIT
// The fbt provider: entry and return of the kernel functions that ftrace can
// instrument.
//
//   available_filter_functions ──> names    /proc/kallsyms ──> addresses
//
// Functions in which the kernel forbids kprobes have no probes, because return probes
// use a kretprobe. The kernel module also refuses these functions (kmod/symbols.c).
//
// Static functions with the same name in one module share one probe. If the kernel has
// only a variant of a function, the plain name matches the variant. For example,
// __kmalloc matches __kmalloc_noprof.
#pragma once

#include "libdtrace/providers/kernel_provider.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include <string_view>
#include <utility>

namespace dt {

class FbtProvider : public KernelProvider {
public:
    FbtProvider(Registry& registry, KernelSymbols& symbols)
        : registry_(registry), symbols_(symbols)
    {
    }
    std::string name() const override { return "fbt"; }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    std::vector<KernelSite> sites(const ProbeInfo& probe) override;

    // Called after modules were loaded or unloaded, so that the lists are read again.
    void forget();
    // Returns why no probe matches the description, starting with "; ". Returns "" if
    // the reason is unknown.
    std::string hint(const ProbeSpec& spec);

private:
    using Function = std::pair<std::string_view, std::string_view>; // module, name
    void load();
    template <class F> Outcome provide(const ProbeSpec& spec, F meets);

    Registry& registry_;
    KernelSymbols& symbols_;
    std::string list_, why_not_;
    std::vector<Function> functions_; // in the list's order; a name can occur twice
    bool loaded_ = false;
};

} // namespace dt
