// SPDX-License-Identifier: MIT
// Providers of the kernel whose probes mean the same on every version of it: proc, sched, io
// and the others of abi/stable.h, whose rows say what each probe is made from.
//
// A probe exists where the running kernel has one of its places. A function counts under its
// own name and under those that the compiler gives to a copy of it (NAME.isra.0). The module
// of a probe is that of its first place, unless the table names another one.
#pragma once

#include "libdtrace/providers/kernel_provider.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace dt {

// Addresses of the functions that rows name; looked up once.
class StablePlaces {
public:
    explicit StablePlaces(KernelSymbols& symbols) : symbols_(symbols) {}
    const std::vector<std::uint64_t>& of(std::string_view function);
    // The module whose code has the function; empty if there is no such function.
    const std::string& module_of(std::string_view function);

private:
    struct Place {
        std::vector<std::uint64_t> addrs;
        std::string module; // of the first address
    };
    const Place& place_of(std::string_view function);

    KernelSymbols& symbols_;
    std::map<std::string_view, Place> places_;
    bool loaded_ = false;
};

class StableProvider : public KernelProvider {
public:
    StableProvider(Registry& registry, StablePlaces& places, std::string_view name)
        : registry_(registry), places_(places), name_(name)
    {
    }
    std::string name() const override { return std::string(name_); }
    ProviderAttributes attributes() const override;
    Outcome provide(const ProbeSpec& spec) override;
    std::vector<KernelSite> sites(const ProbeInfo& probe) override;

private:
    std::vector<KernelSite> sites(std::string_view probe);
    std::string_view module_of(std::string_view probe);

    Registry& registry_;
    StablePlaces& places_;
    std::string_view name_;
};

// Those of the table, by which the module knows that it has the same one.
std::size_t n_stable_rows();

// One for each name in the table.
std::vector<std::unique_ptr<StableProvider>> stable_providers(Registry& registry,
                                                              StablePlaces& places);

} // namespace dt
