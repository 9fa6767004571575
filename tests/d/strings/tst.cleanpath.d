/*
 * cleanpath removes double slashes, dots between slashes, and two dots with the part
 * before them. A slash at the end stays.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s %s\n", cleanpath("/a//b///c"), cleanpath("/a/./b/./c"),
	    cleanpath("/a/b/../c"));
	printf("%s %s %s\n", cleanpath("/a/../../b"), cleanpath("/.."),
	    cleanpath("/a/b/c/../../d"));
	printf("%s %s\n", cleanpath("a/b"), cleanpath("/a/.b/..c"));
	printf("%s %s %s\n", cleanpath("/a/b/"), cleanpath("/a/b//"),
	    cleanpath("/a/b/./"));
	printf("%s %s %s\n", cleanpath("/a/.."), cleanpath("/a/b/.."),
	    cleanpath("/a/b/../../../"));
	printf("%s %s [%s]\n", cleanpath("."), cleanpath("./"), cleanpath(""));
	printf("%s %s %s\n", cleanpath("a/.."), cleanpath("../.."),
	    cleanpath("a/../../b"));
	exit(0);
}
