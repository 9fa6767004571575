/*
 * index returns the first position of a substring at or after a given position.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", index("foobarbaz", "ba"), index("foobarbaz", "bar"),
	    index("foobarbaz", "x"));
	printf("%d %d %d\n", index("foobarbaz", "ba", 3), index("foobarbaz", "ba", 4),
	    index("foobarbaz", "ba", 7));
	printf("%d %d %d\n", index("foobarbaz", "ba", -5), index("foobarbaz", "ba", 100),
	    index("foo", "foobar"));
	printf("%d %d %d %d\n", index("foo", ""), index("foo", "", 2),
	    index("foo", "", 10), index("", ""));
	exit(0);
}
