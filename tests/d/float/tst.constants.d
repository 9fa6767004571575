/*
 * Floating-point constants with a point, an exponent or a suffix are doubles.
 * @flags: -q
 */
BEGIN
{
	printf("%f %f %f %f\n", 1.5, .25, 2., 1e3);
	printf("%g %g %g %g\n", 1.5e-3, 2E+2, 1.5f, 2.5L);
	printf("%d %d\n", sizeof (1.5), 0.1 + 0.2 == 0.3);
	exit(0);
}
