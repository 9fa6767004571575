// SPDX-License-Identifier: MIT
// The fbt provider: entry and return of kernel functions, where ftrace can be put.
//
//   available_filter_functions ──> which    /proc/kallsyms ──> where
//
// Functions that the kernel forbids to kprobes have no probes, because the return hook
// runs through some of them. debugfs lists them; the module refuses them in any case
// (kmod/symbols.c).
//
// Static functions of one name in one module are one probe with several places. A function that
// the kernel has under other names alone, __kmalloc as __kmalloc_noprof, matches by its own.
#pragma once

#include "libdtrace/providers/kernel_provider.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include <map>
#include <set>
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

    // Modules came or went: the lists are read again.
    void forget();
    // Why there is no probe of that name, beginning with "; ", or nothing.
    std::string hint(const ProbeSpec& spec);

private:
    using Function = std::pair<std::string_view, std::string_view>; // module, name
    void load();
    // Makes the probes of those that meets() is true of.
    template <class F> Outcome provide(const ProbeSpec& spec, F meets);

    Registry& registry_;
    KernelSymbols& symbols_;
    std::string list_, why_not_;
    std::vector<Function> functions_; // in the list's order, some twice
    std::map<Function, std::vector<std::uint64_t>> places_;
    bool loaded_ = false, placed_ = false;
};

} // namespace dt
