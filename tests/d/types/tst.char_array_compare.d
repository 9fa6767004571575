/*
 * An array of characters is compared with a string as if it were a string.
 * @flags: -q
 */
char a[8];

BEGIN
{
	a[0] = 'o';
	a[1] = 'n';
	printf("%d %d\n", a == "on", a == "off");
	exit(0);
}
