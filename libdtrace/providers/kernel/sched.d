/* SPDX-License-Identifier: MIT */
/*
 * The sched provider: running threads, waiting threads, and CPUs. A locality group is a
 * NUMA node. Each kernel uses one file chip_*.d and one file lgrp_*.d.
 */
#pragma D depends_on library procfs.d
#pragma D depends_on library chip_by_phys_proc_id.d
#pragma D depends_on library chip_by_topology.d
#pragma D depends_on library lgrp_by_node.d
#pragma D depends_on library lgrp_of_all.d
#pragma D attributes Evolving/Evolving/ISA translator

typedef struct cpuinfo {
	processorid_t cpu_id;
	psetid_t cpu_pset;
	chipid_t cpu_chip;
	lgrp_id_t cpu_lgrp;
} cpuinfo_t;

translator cpuinfo_t < struct rq *r > {
	cpu_id = r->cpu;
	cpu_pset = 0;
	cpu_chip = cpu_chip_of[r->cpu];
	cpu_lgrp = cpu_lgrp_of[r->cpu];
};

#pragma D attributes Evolving/Evolving/ISA chip
#pragma D attributes Evolving/Evolving/ISA lgrp
inline chipid_t chip = cpu_chip_of[cpu];
inline lgrp_id_t lgrp = cpu_lgrp_of[cpu];
inline psetid_t pset = 0;
inline cpuinfo_t *curcpu =
    xlate <cpuinfo_t *> ((struct rq *)((uintptr_t)&`runqueues + `__per_cpu_offset[cpu]));

provider sched {
	probe change-pri(struct task_struct *lwp, struct task_struct *proc, int priority) :
	    (lwpsinfo_t *lwp, psinfo_t *proc, int priority);
	probe dequeue(struct task_struct *lwp, struct task_struct *proc, struct rq *queue, int place) :
	    (lwpsinfo_t *lwp, psinfo_t *proc, cpuinfo_t *queue, int place);
	probe enqueue(struct task_struct *lwp, struct task_struct *proc, struct rq *queue, int place) :
	    (lwpsinfo_t *lwp, psinfo_t *proc, cpuinfo_t *queue, int place);
	probe off-cpu(struct task_struct *lwp, struct task_struct *proc) :
	    (lwpsinfo_t *lwp, psinfo_t *proc);
	probe on-cpu();
	probe preempt();
	probe sleep();
	probe surrender(struct task_struct *lwp, struct task_struct *proc) :
	    (lwpsinfo_t *lwp, psinfo_t *proc);
	probe tick(struct task_struct *lwp, struct task_struct *proc) :
	    (lwpsinfo_t *lwp, psinfo_t *proc);
	probe wakeup(struct task_struct *lwp, struct task_struct *proc) :
	    (lwpsinfo_t *lwp, psinfo_t *proc);
};
