/* SPDX-License-Identifier: MIT */
/*
 * The sched provider without the kernel module. A record contains the id, the name and
 * the priority of a thread. Its process is known by its id only.
 */
#pragma D attributes Evolving/Evolving/ISA translator

/*
 * arg0 to arg4 are the ids of the thread and of its process, the address of the thread's
 * name, its priority, and its CPU. The id of an idle thread is 0.
 */
translator lwpsinfo_t < struct dtrace_switched *t > {
	pr_flag = arg0 == 0 ? PR_IDLE : 0;
	pr_lwpid = (id_t)arg0;
	pr_addr = 0;
	pr_wchan = 0;
	pr_stype = 0;
	pr_state = SRUN;
	pr_sname = 'R';
	pr_nice = arg3 >= 100 ? (int)arg3 - 120 : 0;
	pr_syscall = 0;
	pr_pri = (int)arg3;
	pr_clname = "";
	pr_name = stringof((char *)arg2);
	pr_onpro = (int)arg4;
	pr_bindpro = -1;
	pr_bindpset = -1;
};

translator psinfo_t < struct dtrace_switched *t > {
	pr_nlwp = 0;
	pr_pid = (pid_t)arg1;
	pr_ppid = 0;
	pr_pgid = 0;
	pr_sid = 0;
	pr_uid = -1;
	pr_euid = -1;
	pr_gid = -1;
	pr_egid = -1;
	pr_addr = 0;
	pr_ttydev = -1;
	pr_fname = stringof((char *)arg2);
	pr_psargs = stringof((char *)arg2);
	pr_wstat = 0;
	pr_argc = 0;
	pr_argv = 0;
	pr_envp = 0;
	pr_dmodel = PR_MODEL_LP64;
	pr_taskid = 0;
	pr_projid = 0;
	pr_poolid = 0;
	pr_zoneid = 0;
};

provider sched {
	probe off-cpu(struct dtrace_switched *lwp, struct dtrace_switched *proc) :
	    (lwpsinfo_t *lwp, psinfo_t *proc);
	probe on-cpu();
	probe preempt();
	probe sleep();
	probe wakeup(struct dtrace_switched *lwp, struct dtrace_switched *proc) :
	    (lwpsinfo_t *lwp, psinfo_t *proc);
};
