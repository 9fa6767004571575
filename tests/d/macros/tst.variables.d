/*
 * Macro variables such as $pid and $uid are ids of the dtrace process; $target is 0 if unset.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", $pid == pid, $ppid == ppid, $uid >= 0);
	printf("%d %d %d\n", $euid >= 0, $gid >= 0, $egid >= 0);
	printf("%d %d %d\n", $pgid > 0, $sid >= 0, $target);
	printf("%d %d\n", $projid <= 0, $taskid <= 0);
	printf("%d\n", strlen($$pid) > 0);
	exit(0);
}
