/*
 * %s prints a string, %S escapes it as C does.
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
