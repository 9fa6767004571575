// SPDX-License-Identifier: MIT
// Kernel providers whose probes have the same meaning on every kernel version: proc,
// sched, io and all other providers in abi/stable.h. The rows there say at which
// tracepoints and functions each probe fires.
//
// A probe exists if the running kernel has at least one of its tracepoints or
// functions. A function is found under its own name and under the names that the
// compiler gives to a copy of it (NAME.isra.0). The module of a probe is that of its
// first tracepoint or function, unless the table names a module.
#pragma once

#include "libdtrace/providers/kernel_provider.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dt {

// The addresses of the functions that abi/stable.h names. All of them are looked up at
// the first request.
class StablePlaces {
public:
    explicit StablePlaces(KernelSymbols& symbols) : symbols_(symbols) {}
    const std::vector<std::uint64_t>& of(std::string_view function);
    // Returns the module that contains the function. Returns an empty string if there
    // is no such function.
    const std::string& module_of(std::string_view function);

private:
    struct Place {
        std::vector<std::uint64_t> addrs;
        std::string module; // the module of the first address
    };
    const Place& place_of(std::string_view function);

    KernelSymbols& symbols_;
    std::unordered_map<std::string_view, Place> places_;
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

// Returns the number of rows in abi/stable.h. The kernel module compares this number
// with its own, to check that both have the same table.
std::size_t n_stable_rows();

// Returns one provider for each provider name in abi/stable.h.
std::vector<std::unique_ptr<StableProvider>> stable_providers(Registry& registry,
                                                              StablePlaces& places);

} // namespace dt
