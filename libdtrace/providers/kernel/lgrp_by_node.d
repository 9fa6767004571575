/* SPDX-License-Identifier: MIT */
/* Finds the memory node of a CPU on kernels with CONFIG_NUMA. */
#pragma D depends_on symbol numa_node

inline lgrp_id_t cpu_lgrp_of[int n] = *(int *)((uintptr_t)&`numa_node + `__per_cpu_offset[n]);
