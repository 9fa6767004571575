// SPDX-License-Identifier: MIT
#include "libdtrace/session/provider_set.hpp"

#include "libdtrace/session/processes/processes.hpp"

#include <algorithm>
#include <utility>

namespace dt {

static bool has_named_targets(const Processes& processes)
{
    return std::ranges::any_of(processes.all(),
                               [](const auto& process) { return process->by_user(); });
}

ProviderSet::ProviderSet(Processes& processes, UsdtProvider::Candidates candidates,
                         std::function<bool()> may_record)
    : dtrace(registry), profile(registry),
      pid(registry, probes,
          [&processes](pid_t pid) { return processes.symbols_of(pid); }),
      plockstat(registry, probes,
                [&processes](pid_t pid) { return processes.symbols_of(pid); }),
      usdt(registry, probes, std::move(candidates)), fbt(registry, processes.kernel()),
      cpc(registry), sdt(registry),
      syscall(registry,
              [&processes, may_record] {
                  return has_named_targets(processes) || may_record();
              }),
      syscall_sites(probes),
      tasks(registry, [&processes] { return has_named_targets(processes); }),
      stable_places_(processes.kernel()),
      stable_(stable_providers(registry, stable_places_)),
      recorded_io_(registry, "io", may_record),
      recorded_proc_(registry, "proc",
                     [&processes, may_record] {
                         return !has_named_targets(processes) && may_record();
                     }),
      recorded_sched_(registry, "sched", may_record)
{
    set_kernel_usable(false);
}

void ProviderSet::set_kernel_usable(bool usable)
{
    list_ = {&dtrace, &profile, &pid, &plockstat, &usdt, &syscall};
    syscall.in_kernel = usable;
    if (!usable) {
        list_.insert(list_.end(),
                     {&tasks, &recorded_io_, &recorded_proc_, &recorded_sched_});
        return;
    }
    list_.insert(list_.end(), {&fbt, &cpc, &sdt});
    for (const auto& provider : stable_)
        list_.push_back(provider.get());
}

void ProviderSet::provide_all_of_kernel()
{
    const ProbeSpec any;
    for (Provider* provider : list_)
        if (dynamic_cast<KernelProvider*>(provider) != nullptr || is_recorded(provider))
            provider->provide(any);
}

KernelProvider* ProviderSet::of_kernel(std::uint32_t probe) const
{
    return dynamic_cast<KernelProvider*>(registry.at(probe).owner);
}

bool ProviderSet::has(std::string_view name) const
{
    return std::any_of(list_.begin(), list_.end(), [name](const Provider* each) {
        const auto* recorded = dynamic_cast<const RecordedProvider*>(each);
        return each->name() == name && (recorded == nullptr || recorded->is_usable());
    });
}

bool ProviderSet::may_be_static(const ProbeSpec& spec) const
{
    return UsdtProvider::may_mean(spec) &&
           !PlockstatProvider::may_mean(spec.provider) && !has(spec.provider);
}

} // namespace dt
