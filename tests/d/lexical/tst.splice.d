/*
 * A backslash at the end of a line joins it with the next one, in strings too.
 * @flags: -q
 */
BEGIN
{
	printf("%s %d\n", "ab\
cd", 4 + \
	    5);
	exit(0);
}
