/*
 * cleanpath takes out double slashes, dots and what two dots lead back from.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s %s\n", cleanpath("/a//b///c"), cleanpath("/a/./b/./c"),
	    cleanpath("/a/b/../c"));
	printf("%s %s %s\n", cleanpath("/a/../../b"), cleanpath("/.."),
	    cleanpath("/a/b/c/../../d"));
	printf("%s %s\n", cleanpath("a/b"), cleanpath("/a/.b/..c"));
	exit(0);
}
