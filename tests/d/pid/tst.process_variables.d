/*
 * pid, execname and the other process variables describe the target.
 * @command: spin 1 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:main:entry
{
	printf("%d %d %d %s\n", pid == $target, tid == pid, ppid != pid, execname);
	printf("%d %d\n", uid == $uid, gid == $gid);
	printf("%s\n", curpsinfo->pr_fname);
	printf("%d\n", strstr(curpsinfo->pr_psargs, "spin 1 1") != NULL);
}
