/*
 * %s prints a string, and %S prints it with the escapes of C.
 * @flags: -q
 */
char a[8];

BEGIN
{
	a[0] = 'o';
	a[1] = 'k';
	printf("[%s] [%S] [%s]\n", "a\tb", "a\tb\n\"q\"\\", a);
	exit(0);
}
