/* SPDX-License-Identifier: MIT */
/* For kernels without CONFIG_NUMA: all CPUs belong to the only memory node. */
#pragma D depends_on symbol contig_page_data

inline lgrp_id_t cpu_lgrp_of[int n] = 0;
