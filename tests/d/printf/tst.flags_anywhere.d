/*
 * Flags may follow the width, and %lc has the same effect as %c.
 * @flags: -q
 */
BEGIN
{
	printf("%5-d|%4+d|%8#x|%lc|\n", 1, 2, 3, 'c');
	@n[7] = sum(8);
	@m[7] = sum(9);
	printa("%3d %5@d|%-5@d|%5-@d|%@05d\n", @n, @m);
	exit(0);
}
