/*
 * A new string restarts strtok.
 * @flags: -q
 */
BEGIN
{
	printf("%s ", strtok("a b c", " "));
	printf("%s ", strtok("x y z", " "));
	printf("%s\n", strtok(NULL, " "));
	exit(0);
}
