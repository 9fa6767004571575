/*
 * curpsinfo describes the process: its ids, its name and its arguments.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", curpsinfo->pr_pid == $pid, curpsinfo->pr_ppid == $ppid,
	    curpsinfo->pr_uid == uid);
	printf("%d %d\n", curpsinfo->pr_gid == gid, curpsinfo->pr_euid == $euid);
	printf("%d %d\n", curpsinfo->pr_pgid == $pgid, curpsinfo->pr_sid == $sid);
	printf("%d\n", curpsinfo->pr_egid == $egid);
	printf("%s\n", curpsinfo->pr_fname);
	printf("%d\n", strstr(curpsinfo->pr_psargs, "dtrace") != NULL);
	exit(0);
}
