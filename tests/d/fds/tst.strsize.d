/*
 * A path that is longer than strsize is truncated.
 * @stdin: text
 * @replace: \[\d -> [N
 * @flags: -q -x strsize=8
 */
BEGIN
{
	printf("%s\n", fds[0].fi_pathname);
	exit(0);
}
