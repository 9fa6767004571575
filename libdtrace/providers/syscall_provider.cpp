// SPDX-License-Identifier: MIT
// Creates the probes of system calls, and translates the names of the calls to numbers.
#include "libdtrace/providers/syscall_provider.hpp"

#include "abi/ioctl.h"
#include "libdtrace/providers/syscall_arguments.hpp"
#ifdef __x86_64__
#include "libdtrace/providers/arch/x86_64/syscalls.hpp"
#else
#define DT_SYSCALLS(X)
#endif

#include <algorithm>
#include <array>
#include <iterator>

namespace dt {

namespace {

struct SyscallRow {
    std::string_view name;
    std::uint32_t number;
};

#define X(name, number) {#name, number},
constexpr auto syscall_rows = std::to_array<SyscallRow>({DT_SYSCALLS(X)});
#undef X

} // namespace

ProviderAttributes SyscallProvider::attributes() const
{
    constexpr Attributes evolving{Stability::Evolving, Stability::Evolving,
                                  DependencyClass::Common};
    constexpr Attributes hidden{Stability::Private, Stability::Private,
                                DependencyClass::Unknown};
    constexpr Attributes isa{Stability::Private, Stability::Private,
                             DependencyClass::Isa};
    constexpr Attributes names{Stability::Evolving, Stability::Evolving,
                               DependencyClass::Isa};
    return {evolving, hidden, isa, names, isa};
}

Provider::Outcome SyscallProvider::provide(const ProbeSpec& spec)
{
    if (!part_means(spec.provider, "syscall") || !spec.module.empty() ||
        (!in_kernel && !is_usable_()))
        return {};
    for (const SyscallRow& row : syscall_rows) {
        if (!part_means(spec.function, row.name))
            continue;
        for (const std::string_view name : {"entry", "return"}) {
            if (!part_means(spec.name, name))
                continue;
            const std::uint32_t probe =
                registry_.add(this, "syscall", "", row.name, name);
            auto is_it = [probe](const CallProbe& each) { return each.probe == probe; };
            if (std::ranges::none_of(known_, is_it))
                known_.push_back({probe, name == "return", {row.number}});
        }
    }
    return {}; // the caller searches the registry for the new probes
}

std::vector<CallProbe> SyscallProvider::enabled() const
{
    std::vector<CallProbe> all;
    std::ranges::copy_if(
        known_, std::back_inserter(all),
        [this](const CallProbe& each) { return registry_.at(each.probe).enabled; });
    return all;
}

CallProbes SyscallProvider::call_probes() const
{
    CallProbes probes;
    for (const CallProbe& each : enabled())
        (each.returns ? probes.ret : probes.entry).at(each.numbers.front()) =
            each.probe;
    return probes;
}

std::vector<KernelSite> SyscallProvider::sites(const ProbeInfo& probe)
{
    for (const SyscallRow& row : syscall_rows) {
        if (row.name != probe.function)
            continue;
        KernelSite site;
        site.kind = probe.name == "entry" ? DTK_SYSCALL_ENTRY : DTK_SYSCALL_RETURN;
        site.where = row.number;
        return {site};
    }
    return {};
}

Result<ArgumentTypes> SyscallProvider::argument_types(const ProbeInfo& probe) const
{
    ArgumentTypes types;
    if (probe.name == "return") {
        types.written = {{"", "long"}, {"", "long"}}; // both are the returned value
        return types;
    }
    auto arguments = syscall_arguments(probe.function);
    if (!arguments && arguments.error().code == Code::unsupported) {
        types.why_none = arguments.error().text;
        return types;
    }
    if (!arguments)
        return arguments.error();
    types.written = std::move(*arguments);
    return types;
}

} // namespace dt
