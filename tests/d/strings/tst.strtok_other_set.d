/*
 * strtok() stays at the delimiter that ended a word. A later call with other delimiters
 * begins there.
 * @flags: -q
 */
BEGIN
{
	printf("[%s]", strtok("a,b;c", ","));
	printf("[%s]", strtok(0, ";"));
	printf("[%s]\n", strtok(0, ";"));
	exit(0);
}
