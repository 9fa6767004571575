/*
 * Strings and numbers can be swapped through a third variable.
 * @flags: -q
 */
BEGIN
{
	a = "x"; b = "yy"; t = a; a = b; b = t;
	printf("%s %s\n", a, b);
	m[1] = 5; m[2] = 7; u = m[1]; m[1] = m[2]; m[2] = u;
	printf("%d %d\n", m[1], m[2]);
	exit(0);
}
