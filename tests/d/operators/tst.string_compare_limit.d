/*
 * Strings are compared up to strsize.
 * @flags: -q -x strsize=8
 */
BEGIN
{
	a = "abcdefgh1";
	b = "abcdefgi2";
	printf("%s %s %d\n", a, b, a == b);
	exit(0);
}
