/*
 * In BEGIN, pid, tid, ppid, uid and gid are those of dtrace itself.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d\n", pid == $pid, ppid == $ppid, uid == $euid,
	    gid == $egid);
	printf("%d\n", tid == $pid);
	exit(0);
}
