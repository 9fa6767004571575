// SPDX-License-Identifier: MIT
// Chooses where the probes of a session fire.
//
//   SessionState ──backend_facts()──▶ BackendFacts ──choose_backend()──▶ BackendChoice
//
// Probes of the kernel's providers fire in the kernel module. All other probes fire in
// processes, unless -x mechanism=uprobe requests the module.
//
// Only the kernel can observe all activity of a CPU, so tick and profile prefer the
// module. But in the module, probes in processes become uprobes, which are slow. So for
// a program with such probes, tick does not select the module, and profile selects it
// only if the user named no processes.
#pragma once

namespace dt {

struct SessionState;

struct BackendFacts {
    bool module_usable = false;  // the kernel module's device is open
    bool module_wanted = false;  // -x mechanism=uprobe is set
    bool kernel_probes = false;  // a program has probes or clauses that need the module
    bool process_probes = false; // pid or static probes exist, or may appear later
    bool profile_probes = false;
    bool tick_probes = false;
    bool named_targets = false; // the user named targets with -p or -c
};

enum class BackendChoice {
    processes,
    // the module could sample every CPU, but profile samples only the traced processes
    processes_for_profile,
    module,
    module_unusable, // the program needs the module, which cannot be used
};

BackendFacts backend_facts(const SessionState& state);
BackendChoice choose_backend(const BackendFacts& facts);

} // namespace dt
