/* SPDX-License-Identifier: MIT */
/*
 * The proc provider without the kernel module. The agent, the runtime and RecordedEvents
 * pass numbers, because they have no structures of the kernel. The current process is shown completely. A new
 * process is shown as a copy of the current one. Of any other process, only the id is
 * known.
 */
#pragma D attributes Evolving/Evolving/ISA translator

/* l is the thread's id, or 0 if it is unknown. */
translator lwpsinfo_t < struct dtrace_lwp *l > {
	pr_flag = 0;
	pr_lwpid = (id_t)(uintptr_t)l;
	pr_addr = 0;
	pr_wchan = 0;
	pr_stype = 0;
	pr_state = (uintptr_t)l == tid ? SONPROC : 0;
	pr_sname = (uintptr_t)l == tid ? 'O' : '?';
	pr_nice = 0;
	pr_syscall = 0;
	pr_pri = 0;
	pr_clname = "";
	pr_name = (uintptr_t)l == tid ? execname : "";
	pr_onpro = (uintptr_t)l == tid ? curlwpsinfo->pr_onpro : -1;
	pr_bindpro = -1;
	pr_bindpset = -1;
};

/*
 * p is the process's id. 0x100000000 is added if the process is a new copy of the
 * current one. p is 0 after tkill(2), which does not name the process.
 */
translator psinfo_t < struct dtrace_process *p > {
	pr_nlwp = (uintptr_t)p >> 32;
	pr_pid = p != 0 ? (pid_t)(uintptr_t)p : arg0 == tid ? pid : 0;
	pr_ppid = (uintptr_t)p >> 32 ? pid : (pid_t)(uintptr_t)p == pid ? ppid : 0;
	pr_pgid = (uintptr_t)p >> 32 || (pid_t)(uintptr_t)p == pid ? curpsinfo->pr_pgid : 0;
	pr_sid = (uintptr_t)p >> 32 || (pid_t)(uintptr_t)p == pid ? curpsinfo->pr_sid : 0;
	pr_uid = (uintptr_t)p >> 32 || (pid_t)(uintptr_t)p == pid ? uid : -1;
	pr_euid = (uintptr_t)p >> 32 || (pid_t)(uintptr_t)p == pid ? curpsinfo->pr_euid : -1;
	pr_gid = (uintptr_t)p >> 32 || (pid_t)(uintptr_t)p == pid ? gid : -1;
	pr_egid = (uintptr_t)p >> 32 || (pid_t)(uintptr_t)p == pid ? curpsinfo->pr_egid : -1;
	pr_addr = 0;
	pr_ttydev = -1;
	pr_fname = (uintptr_t)p >> 32 || (pid_t)(uintptr_t)p == pid ? execname : "";
	pr_psargs = (uintptr_t)p >> 32 || (pid_t)(uintptr_t)p == pid ?
	    curpsinfo->pr_psargs : "";
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

/* s is the signal's number. signal_arguments() in the agent lists the arguments. */
translator siginfo_t < struct dtrace_signal *s > {
	si_signo = (int)(uintptr_t)s;
	si_errno = (int)arg9;
	si_code = (int)arg3;
	si_pid = (pid_t)arg4;
	si_uid = (uid_t)arg5;
	si_status = (int)arg6;
	si_addr = arg7;
	si_value = arg8;
};

provider proc {
	probe create(struct dtrace_process *child) : (psinfo_t *child);
	probe exec(char *path);
	probe exec-failure(int error);
	probe exec-success();
	probe exit(int reason);
	probe fault(int fault, struct dtrace_signal *info) : (int fault, siginfo_t *info);
	probe lwp-create(struct dtrace_lwp *lwp, struct dtrace_process *proc) :
	    (lwpsinfo_t *lwp, psinfo_t *proc);
	probe lwp-exit();
	probe lwp-start();
	probe signal-clear(int sig);
	probe signal-discard(struct dtrace_lwp *lwp, struct dtrace_process *proc, int sig) :
	    (lwpsinfo_t *lwp, psinfo_t *proc, int sig);
	probe signal-handle(int sig, struct dtrace_signal *info, void (*handler)(void)) :
	    (int sig, siginfo_t *info, void (*handler)(void));
	probe signal-send(struct dtrace_lwp *lwp, struct dtrace_process *proc, int sig) :
	    (lwpsinfo_t *lwp, psinfo_t *proc, int sig);
	probe start();
};
