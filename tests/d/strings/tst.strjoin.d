/*
 * strjoin appends its second string to the first.
 * @flags: -q
 */
BEGIN
{
	printf("[%s] [%s] [%s] [%s]\n", strjoin("ab", "cd"), strjoin("", "x"),
	    strjoin("x", ""), strjoin("", ""));
	printf("%s\n", strjoin(strjoin("a", "b"), strjoin("c", "d")));
	exit(0);
}
