/*
 * Types of the kernel are in scope without being declared.
 */
#pragma D option quiet

struct task_struct *task;
struct mine { pid_t pid; };

BEGIN
{
	printf("%d %d\n", sizeof(struct task_struct) > 1000,
	    offsetof(struct task_struct, pid) > 0);
	printf("%d %d %d\n", sizeof(kuid_t), sizeof(vmlinux`struct list_head),
	    sizeof(struct mine));
	printf("%d %d\n", PIDTYPE_PID, vmlinux`PIDTYPE_TGID);
	exit(0);
}
