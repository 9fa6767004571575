/*
 * A string has strsize bytes, and longer strings are truncated.
 * @flags: -q -x strsize=8
 */
string s;

BEGIN
{
	s = "0123456789";
	printf("%s %d %d\n", s, strlen(s), sizeof (string));
	printf("%d\n", sizeof (s));
	exit(0);
}
