/*
 * The next call to strtok() begins at the delimiter that ended the previous word, even
 * if the next call has other delimiters.
 * @flags: -q
 */
BEGIN
{
	printf("[%s]", strtok("a,b;c", ","));
	printf("[%s]", strtok(0, ";"));
	printf("[%s]\n", strtok(0, ";"));
	exit(0);
}
