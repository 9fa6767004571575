/*
 * A variable has the type of the first value that is stored in it.
 * @flags: -q
 */
BEGIN
{
	s = "text";
	c = s;
	printf("%s %s %d\n", s, c, c == "text");
	s = "other";
	printf("%s %s\n", s, c);
	exit(0);
}
