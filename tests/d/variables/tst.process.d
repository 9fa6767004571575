/*
 * pid is the process itself in BEGIN, with its parent, its user and its group.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d\n", pid == $pid, ppid == $ppid, uid == $euid,
	    gid == $egid);
	printf("%d\n", tid == $pid);
	exit(0);
}
