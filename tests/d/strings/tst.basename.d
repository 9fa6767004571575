/*
 * basename returns the last part of a path.
 * @flags: -q
 */
BEGIN
{
	printf("[%s] [%s] [%s] [%s]\n", basename("/usr/bin/dtrace"), basename("dtrace"),
	    basename("/usr/bin/"), basename("/usr/bin//"));
	printf("[%s] [%s] [%s] [%s]\n", basename("/"), basename("//"), basename(""),
	    basename("."));
	printf("[%s] [%s]\n", basename("a/b"), basename("/a"));
	exit(0);
}
