/* SPDX-License-Identifier: MIT */
/*
 * The proc provider: processes and threads, in the form of procfs on Solaris. Only the
 * current process is shown with its arguments. Other processes are shown by their
 * names.
 */
#pragma D attributes Evolving/Evolving/ISA translator

translator lwpsinfo_t < struct task_struct *t > {
	pr_flag = (t->flags & 0x200000 ? PR_ISSYS : 0) | (t->ptrace ? PR_PTRACE : 0) |
	    (t->pid == 0 ? PR_IDLE : 0) |
	    (t->exit_state == 0 && t->__state & 0xc ? PR_STOPPED : 0) |
	    (t->exit_state == 0 && t->__state & 0x3 ? PR_ASLEEP : 0);
	pr_lwpid = t->pid;
	pr_addr = (uintptr_t)t;
	pr_wchan = 0;
	pr_stype = 0;
	pr_state = t->exit_state ? SZOMB : t->__state & 0xc ? SSTOP :
	    t->__state ? SSLEEP : t->on_cpu ? SONPROC : SRUN;
	pr_sname = t->exit_state ? 'Z' : t->__state & 0xc ? 'T' :
	    t->__state ? 'S' : t->on_cpu ? 'O' : 'R';
	pr_nice = t->static_prio - 120;
	/* Without CONFIG_X86_FRED, pt_regs is the last 168 bytes of the 16 KiB stack. 0x200000 is PF_KTHREAD. */
	pr_syscall = t->flags & 0x200000 ? 0 :
	    (short)((struct pt_regs *)((uintptr_t)t->stack + 16384 - 168))->orig_ax;
	pr_pri = t->prio;
	pr_clname = t->policy == 0 ? "TS" : t->policy == 1 ? "FF" : t->policy == 2 ? "RR" :
	    t->policy == 3 ? "B" : t->policy == 5 ? "IDL" : t->policy == 6 ? "DLN" : "";
	pr_name = stringof(t->comm);
	pr_onpro = t->thread_info.cpu;
	pr_bindpro = t->nr_cpus_allowed == 1 ? t->thread_info.cpu : -1;
	pr_bindpset = -1;
};

translator psinfo_t < struct task_struct *t > {
	pr_nlwp = t->signal->nr_threads;
	pr_pid = t->tgid;
	pr_ppid = t->real_parent->tgid;
	pr_pgid = t->signal->pids[PIDTYPE_PGID] ? t->signal->pids[PIDTYPE_PGID]->numbers[0].nr : 0;
	pr_sid = t->signal->pids[PIDTYPE_SID] ? t->signal->pids[PIDTYPE_SID]->numbers[0].nr : 0;
	pr_uid = t->real_cred->uid.val;
	pr_euid = t->real_cred->euid.val;
	pr_gid = t->real_cred->gid.val;
	pr_egid = t->real_cred->egid.val;
	pr_addr = (uintptr_t)t;
	/* User-space encoding: the low 8 minor bits come first, then the major
	 * number. */
	pr_ttydev = t->signal->tty ? (dev_t)(t->signal->tty->driver->major << 8 |
	    (t->signal->tty->driver->minor_start + t->signal->tty->index & 0xff) |
	    (t->signal->tty->driver->minor_start + t->signal->tty->index & 0xfff00) << 12) : (dev_t)-1;
	pr_fname = stringof(t->group_leader->comm);
	pr_psargs = t->tgid == pid ? curpsinfo->pr_psargs : stringof(t->group_leader->comm);
	pr_wstat = t->exit_code;
	/* The stack of a new program begins with argc, argv[] and envp[]. */
	pr_argc = t->mm && t->tgid == pid ? *(int *)copyin(t->mm->start_stack, 4) : 0;
	pr_argv = t->mm ? t->mm->start_stack + 8 : 0;
	pr_envp = t->mm && t->tgid == pid ?
	    t->mm->start_stack + 8 * (2 + *(int *)copyin(t->mm->start_stack, 4)) : 0;
	pr_dmodel = t->thread_info.flags & 0x20000000 ? PR_MODEL_ILP32 : PR_MODEL_LP64;
	pr_taskid = 0;
	pr_projid = 0;
	pr_poolid = 0;
	pr_zoneid = 0;
};

typedef struct dtrace_siginfo {
	int si_signo;
	int si_errno;
	int si_code;
	pid_t si_pid;
	uid_t si_uid;
	int si_status;
	uintptr_t si_addr;
	uintptr_t si_value;
} siginfo_t;

/* s is 0 if the current process sent the signal, and 1 if the kernel sent it. Otherwise s is a pointer. */
translator siginfo_t < struct kernel_siginfo *s > {
	si_signo = (uintptr_t)s > 1 ? s->si_signo : 0;
	si_errno = (uintptr_t)s > 1 ? s->si_errno : 0;
	si_code = (uintptr_t)s > 1 ? s->si_code : (uintptr_t)s == 1 ? 0x80 : 0;
	si_pid = (uintptr_t)s > 1 ? s->_sifields._kill._pid : pid;
	si_uid = (uintptr_t)s > 1 ? s->_sifields._kill._uid : uid;
	si_status = (uintptr_t)s > 1 ? s->_sifields._sigchld._status : 0;
	si_addr = (uintptr_t)s > 1 ? (uintptr_t)s->_sifields._sigfault._addr : 0;
	si_value = (uintptr_t)s > 1 ? (uintptr_t)s->_sifields._rt._sigval.sival_ptr : 0;
};

provider proc {
	probe create(struct task_struct *child) : (psinfo_t *child);
	probe exec(char *path);
	probe exec-failure(int error);
	probe exec-success();
	probe exit(int reason);
	probe fault(int fault, struct kernel_siginfo *info) : (int fault, siginfo_t *info);
	probe lwp-create(struct task_struct *lwp, struct task_struct *proc) :
	    (lwpsinfo_t *lwp, psinfo_t *proc);
	probe lwp-exit();
	probe lwp-start();
	probe signal-clear(int sig);
	probe signal-discard(struct task_struct *lwp, struct task_struct *proc, int sig) :
	    (lwpsinfo_t *lwp, psinfo_t *proc, int sig);
	probe signal-handle(int sig, struct kernel_siginfo *info, void (*handler)(void)) :
	    (int sig, siginfo_t *info, void (*handler)(void));
	probe signal-send(struct task_struct *lwp, struct task_struct *proc, int sig) :
	    (lwpsinfo_t *lwp, psinfo_t *proc, int sig);
	probe start();
};
