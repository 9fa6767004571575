/*
 * Before version 1.1, a variable may have the name fds.
 * @flags: -q -x version=1.0
 */
BEGIN
{
	fds[1] = 2;
	printf("%d\n", fds[1]);
	exit(0);
}
