/*
 * stringof makes a string from an array of characters.
 * @flags: -q
 */
char a[4];

BEGIN
{
	a[0] = 'h';
	a[1] = 'i';
	printf("%s %d\n", stringof(a), stringof(a) == "hi");
	printf("%s\n", stringof a);
	exit(0);
}
