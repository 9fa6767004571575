/*
 * strlen counts the bytes before the NUL.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", strlen(""), strlen("abc"), strlen("a b\tc"));
	exit(0);
}
