// SPDX-License-Identifier: MIT
// All providers of a session, and the registry of their probes. A description is
// offered to the providers in the order of list(). The list contains the kernel's
// providers only while the kernel module can be used.
#pragma once

#include "libdtrace/providers/cpc_provider.hpp"
#include "libdtrace/providers/derived/plockstat_provider.hpp"
#include "libdtrace/providers/dtrace_provider.hpp"
#include "libdtrace/providers/fbt_provider.hpp"
#include "libdtrace/providers/kernel_provider.hpp"
#include "libdtrace/providers/pid_provider.hpp"
#include "libdtrace/providers/profile_provider.hpp"
#include "libdtrace/providers/recorded_provider.hpp"
#include "libdtrace/providers/sdt_provider.hpp"
#include "libdtrace/providers/stable_provider.hpp"
#include "libdtrace/providers/syscall_provider.hpp"
#include "libdtrace/providers/syscall_sites.hpp"
#include "libdtrace/providers/task_provider.hpp"
#include "libdtrace/providers/usdt_provider.hpp"

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace dt {

class Processes;

class ProviderSet {
public:
    // may_record() returns whether probes of all processes can fire in the consumer
    // (RecordedProvider).
    ProviderSet(Processes& processes, UsdtProvider::Candidates candidates,
                std::function<bool()> may_record);

    std::span<Provider* const> list() const { return list_; }
    void set_kernel_usable(bool usable);
    // Creates the probes of the kernel, or of its records.
    void provide_all_of_kernel();
    // Returns null for probes that do not fire in the kernel.
    KernelProvider* of_kernel(std::uint32_t probe) const;
    bool has(std::string_view name) const;
    // Returns whether the provider's probes fire for recorded events (RecordedProvider).
    bool is_recorded(const Provider* owner) const
    {
        return owner == &recorded_io_ || owner == &recorded_proc_ ||
               owner == &recorded_sched_;
    }
    // Returns whether static probes that match a description may appear in any process.
    bool may_be_static(const ProbeSpec& spec) const;

    Registry registry;
    ProcessProbes probes;
    DtraceProvider dtrace;
    ProfileProvider profile;
    PidProvider pid;
    PlockstatProvider plockstat;
    UsdtProvider usdt;
    FbtProvider fbt;
    CpcProvider cpc;
    SdtProvider sdt;
    SyscallProvider syscall;
    SyscallSites syscall_sites;
    TaskProvider tasks;

private:
    StablePlaces stable_places_;
    std::vector<std::unique_ptr<StableProvider>> stable_;
    RecordedProvider recorded_io_, recorded_proc_, recorded_sched_;
    std::vector<Provider*> list_;
};

} // namespace dt
