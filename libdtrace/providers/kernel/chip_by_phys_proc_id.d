/* SPDX-License-Identifier: MIT */
/* Finds the chip of a CPU on kernels before 6.7. */
#pragma D depends_on member cpuinfo_x86.phys_proc_id

inline chipid_t cpu_chip_of[int n] =
    ((struct cpuinfo_x86 *)((uintptr_t)&`cpu_info + `__per_cpu_offset[n]))->phys_proc_id;
