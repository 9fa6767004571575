/*
 * A backslash at the end of a line joins the line with the next line, even in a string.
 * @flags: -q
 */
BEGIN
{
	printf("%s %d\n", "ab\
cd", 4 + \
	    5);
	exit(0);
}
