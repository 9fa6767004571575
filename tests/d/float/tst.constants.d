/*
 * Floating-point constants are doubles: with a point, an exponent, a suffix, in hexadecimal.
 * @flags: -q
 */
BEGIN
{
	printf("%f %f %f %f\n", 1.5, .25, 2., 1e3);
	printf("%g %g %g %g\n", 1.5e-3, 2E+2, 1.5f, 2.5L);
	printf("%d %d\n", sizeof (1.5), 0.1 + 0.2 == 0.3);
	exit(0);
}
