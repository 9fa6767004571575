/*
 * dirname returns a path without its last part.
 * @flags: -q
 */
BEGIN
{
	printf("[%s] [%s] [%s] [%s]\n", dirname("/usr/bin/dtrace"), dirname("dtrace"),
	    dirname("/usr/bin/"), dirname("/usr//bin"));
	printf("[%s] [%s] [%s] [%s]\n", dirname("/"), dirname("//"), dirname(""),
	    dirname("/a"));
	printf("[%s] [%s]\n", dirname("a/b"), dirname("a/b/"));
	exit(0);
}
