/*
 * cwd and root are the current directory and the root directory of the process.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s\n", substr(cwd, 0, 1), root);
	exit(0);
}
