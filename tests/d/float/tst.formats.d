/*
 * printf() formats doubles with flags, a width and a precision.
 * @flags: -q
 */
double d;
BEGIN
{
	d = 1234.5678;
	printf("[%f] [%e] [%g] [%E] [%G]\n", d, d, d, d, d);
	printf("[%.2f] [%10.1f] [%-10.1f] [%+g] [%010.3f] [% g] [%#.0f]\n", d, d, d, d, d, d, d);
	printf("[%*.*f]\n", 12, 3, d);
	printf("[%f] [%g] [%g]\n", 1.0 / 0, -1.0 / 0, d / 1e-320);
	exit(0);
}
