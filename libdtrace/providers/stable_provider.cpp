// SPDX-License-Identifier: MIT
// Looks up the rows of abi/stable.h by their names.
#include "libdtrace/providers/stable_provider.hpp"

#include "abi/ioctl.h"
#include "abi/stable.h"

#include <algorithm>
#include <array>

namespace dt {

namespace {

struct Row {
    std::string_view provider, probe;
    dtk_stable_how how;
    std::string_view source;
};

#define X(provider, probe, how, source, choose)                                        \
    {provider, probe, DTK_STABLE_##how, source},
constexpr auto rows = std::to_array<Row>({DTK_STABLE(X)});
#undef X

struct Names {
    std::string_view module, function, name;
};

Names names_of(const Row& row)
{
    std::size_t first = row.probe.find(':'), last = row.probe.rfind(':');
    if (first == last)
        return {"", "", row.probe};
    return {row.probe.substr(0, first), row.probe.substr(first + 1, last - first - 1),
            row.probe.substr(last + 1)};
}

} // namespace

std::size_t n_stable_rows()
{
    return rows.size();
}

const std::vector<std::uint64_t>& StablePlaces::of(std::string_view function)
{
    return place_of(function).addrs;
}

const std::string& StablePlaces::module_of(std::string_view function)
{
    return place_of(function).module;
}

const StablePlaces::Place& StablePlaces::place_of(std::string_view function)
{
    if (!loaded_) {
        loaded_ = true;
        for (const Row& row : rows)
            if (row.how != DTK_STABLE_TRACEPOINT)
                places_[row.source];
        symbols_.each([&](const KernelSymbols::Symbol& symbol) {
            if (!symbol.is_function)
                return;
            // Ignore parts such as foo.cold, which may take different arguments.
            auto wanted = places_.find(KernelSymbols::function_of(symbol.name));
            if (wanted == places_.end())
                return;
            Place& place = wanted->second;
            if (place.addrs.empty())
                place.module = symbol.module;
            place.addrs.push_back(symbol.addr);
        });
    }
    return places_[function];
}

ProviderAttributes StableProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Isa};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    return {evolving, hidden, hidden, evolving, evolving};
}

Provider::Outcome StableProvider::provide(const ProbeSpec& spec)
{
    if (!part_means(spec.provider, name_))
        return {};
    for (const Row& row : rows) {
        if (row.provider != name_)
            continue;
        Names names = names_of(row);
        // module_of() and sites() may have to read all symbols of the kernel, so they
        // are called last.
        if (!part_means(spec.function, names.function) ||
            !part_means(spec.name, names.name))
            continue;
        if (names.module.empty())
            names.module = module_of(row.probe);
        if (part_means(spec.module, names.module) && !sites(row.probe).empty())
            registry_.add(this, name_, names.module, names.function, names.name);
    }
    return {}; // the caller searches the registry for the new probes
}

// Returns the module of a probe's first tracepoint or function. All tracepoints of the
// table are in vmlinux.
std::string_view StableProvider::module_of(std::string_view probe)
{
    for (const Row& row : rows) {
        if (row.provider != name_ || row.probe != probe)
            continue;
        if (row.how == DTK_STABLE_TRACEPOINT)
            return "vmlinux";
        if (const std::string& module = places_.module_of(row.source); !module.empty())
            return module;
    }
    return "";
}

std::vector<KernelSite> StableProvider::sites(std::string_view probe)
{
    std::vector<KernelSite> sites;
    for (std::size_t i = 0; i < rows.size(); i++) {
        if (rows[i].provider != name_ || rows[i].probe != probe)
            continue;
        KernelSite site;
        site.kind = DTK_STABLE_ROW;
        site.where = i;
        if (rows[i].how == DTK_STABLE_TRACEPOINT) {
            sites.push_back(site);
            continue;
        }
        for (std::uint64_t addr : places_.of(rows[i].source)) {
            site.more = addr;
            sites.push_back(site);
        }
    }
    return sites;
}

std::vector<KernelSite> StableProvider::sites(const ProbeInfo& probe)
{
    std::string row(probe.name);
    if (!probe.function.empty())
        row = std::string(probe.module) + ":" + std::string(probe.function) + ":" + row;
    return sites(row);
}

std::vector<std::unique_ptr<StableProvider>> stable_providers(Registry& registry,
                                                              StablePlaces& places)
{
    std::vector<std::unique_ptr<StableProvider>> providers;
    for (const Row& row : rows)
        if (std::none_of(providers.begin(), providers.end(),
                         [&](const auto& one) { return one->name() == row.provider; }))
            providers.push_back(
                std::make_unique<StableProvider>(registry, places, row.provider));
    return providers;
}

} // namespace dt
