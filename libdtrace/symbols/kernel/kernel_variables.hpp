// SPDX-License-Identifier: MIT
// The types of kernel variables that BTF does not describe. If the kernel's BTF
// describes a variable, BTF takes precedence over this table.
//
// A row must be correct for all kernels of recent years. Variables whose type differs
// between kernels have no row.
#pragma once

#include <array>
#include <string_view>

namespace dt {

struct KernelVariableRow {
    // The type in C. An array "[ ]" extends to the next symbol.
    std::string_view name, type;
};

// clang-format off
inline constexpr std::array kernel_variables{
    KernelVariableRow{"jiffies",             "volatile unsigned long"},
    KernelVariableRow{"jiffies_64",          "unsigned long"},
    KernelVariableRow{"init_task",           "struct task_struct"},
    KernelVariableRow{"init_mm",             "struct mm_struct"},
    KernelVariableRow{"init_pid_ns",         "struct pid_namespace"},
    KernelVariableRow{"init_user_ns",        "struct user_namespace"},
    KernelVariableRow{"init_uts_ns",         "struct uts_namespace"},
    KernelVariableRow{"init_net",            "struct net"},
    KernelVariableRow{"init_css_set",        "struct css_set"},
    KernelVariableRow{"init_cred",           "struct cred"},
    KernelVariableRow{"root_task_group",     "struct task_group"},
    KernelVariableRow{"modules",             "struct list_head"},
    KernelVariableRow{"net_namespace_list",  "struct list_head"},
    KernelVariableRow{"super_blocks",        "struct list_head"},
    KernelVariableRow{"slab_caches",         "struct list_head"},
    KernelVariableRow{"linux_banner",        "char [ ]"},
    KernelVariableRow{"saved_command_line",  "char *"},
    KernelVariableRow{"system_state",        "enum system_states"},
    KernelVariableRow{"vm_swappiness",       "int"},
    KernelVariableRow{"max_pfn",             "unsigned long"},
    KernelVariableRow{"min_low_pfn",         "unsigned long"},
    KernelVariableRow{"max_low_pfn",         "unsigned long"},
    KernelVariableRow{"nr_cpu_ids",          "unsigned int"},
    KernelVariableRow{"nr_threads",          "int"},
    KernelVariableRow{"total_forks",         "unsigned long"},
    KernelVariableRow{"avenrun",             "unsigned long [ ]"},
    KernelVariableRow{"pid_max",             "int"},
    KernelVariableRow{"tsc_khz",             "unsigned int"},
    KernelVariableRow{"cpu_khz",             "unsigned int"},
    KernelVariableRow{"loops_per_jiffy",     "unsigned long"},
    KernelVariableRow{"__per_cpu_offset",    "unsigned long [ ]"},
    KernelVariableRow{"__cpu_online_mask",   "struct cpumask"},
    KernelVariableRow{"__cpu_possible_mask", "struct cpumask"},
    KernelVariableRow{"page_offset_base",    "unsigned long"},
    KernelVariableRow{"vmalloc_base",        "unsigned long"},
    KernelVariableRow{"vmemmap_base",        "unsigned long"},
    KernelVariableRow{"phys_base",           "unsigned long"},
    KernelVariableRow{"boot_cpu_data",       "struct cpuinfo_x86"},
    KernelVariableRow{"kallsyms_num_syms",   "unsigned int"},
};
// clang-format on

inline constexpr std::string_view kernel_variable_type(std::string_view name)
{
    for (const KernelVariableRow& row : kernel_variables)
        if (row.name == name)
            return row.type;
    return {};
}

} // namespace dt
