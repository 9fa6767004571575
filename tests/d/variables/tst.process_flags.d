/*
 * Constants for process flags, signal codes and synchronisation objects have the published values.
 * @flags: -q
 */
BEGIN
{
	printf("%x %x %x\n", PR_IDLE, PR_NOSIGCHLD, PR_WAITPID);
	printf("%d %d %d %d\n", SOBJ_CV, SOBJ_SHUTTLE, SI_LWP, SI_USER);
	printf("%d %d %d %d %d %d\n", ILL_BADSTK, FPE_INTDIV, SEGV_ACCERR, BUS_OBJERR, TRAP_TRACE, POLL_HUP);
	exit(0);
}
