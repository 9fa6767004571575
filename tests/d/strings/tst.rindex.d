/*
 * rindex returns the last position of a substring at or before a given position.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", rindex("foobarbaz", "ba"), rindex("foobarbaz", "bar"),
	    rindex("foobarbaz", "x"));
	printf("%d %d %d\n", rindex("foobarbaz", "ba", 5), rindex("foobarbaz", "ba", 6),
	    rindex("foobarbaz", "ba", 2));
	printf("%d %d %d\n", rindex("foobarbaz", "ba", -5),
	    rindex("foobarbaz", "ba", 100), rindex("foobarbaz", "foo", 0));
	printf("%d %d\n", rindex("foo", ""), rindex("", ""));
	exit(0);
}
