/*
 * BEGIN's arguments after the first are zero.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d\n", arg1, arg2, arg3, arg4);
	printf("%d %d %d %d %d\n", arg5, arg6, arg7, arg8, arg9);
	exit(0);
}
