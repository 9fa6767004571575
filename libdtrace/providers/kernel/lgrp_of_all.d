/* SPDX-License-Identifier: MIT */
/* The one node of memory that all CPUs are at: kernels without CONFIG_NUMA. */
#pragma D depends_on symbol contig_page_data

inline lgrp_id_t cpu_lgrp_of[int n] = 0;
