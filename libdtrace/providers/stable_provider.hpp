// SPDX-License-Identifier: MIT
// Kernel providers whose probes have the same meaning on every kernel version, such as
// proc, sched and io. The rows of abi/stable.h say where each probe fires.
//
// A probe exists if the running kernel has one of its tracepoints or functions. The
// compiler may have renamed a function to NAME.isra.0.
#pragma once

#include "libdtrace/providers/kernel_provider.hpp"
#include "libdtrace/symbols/kernel/kernel_symbols.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

namespace dt {

// The addresses of the functions that abi/stable.h names.
class StablePlaces {
public:
    explicit StablePlaces(KernelSymbols& symbols) : symbols_(symbols) {}
    const std::vector<std::uint64_t>& of(std::string_view function);
    // Returns the function's module, or "" if there is no such function.
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

// Returns the number of rows in abi/stable.h. The kernel module checks that it has the
// same number.
std::size_t n_stable_rows();

std::vector<std::unique_ptr<StableProvider>> stable_providers(Registry& registry,
                                                              StablePlaces& places);

} // namespace dt
