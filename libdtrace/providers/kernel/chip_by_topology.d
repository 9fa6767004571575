/* SPDX-License-Identifier: MIT */
/* Finds the chip of a CPU on kernels since 6.7. */
#pragma D depends_on member cpuinfo_x86.topo

inline chipid_t cpu_chip_of[int n] =
    ((struct cpuinfo_x86 *)((uintptr_t)&`cpu_info + `__per_cpu_offset[n]))->topo.pkg_id;
