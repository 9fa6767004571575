/*
 * + - * / and unary - accept doubles, floats, and mixtures of these and integers.
 * @flags: -q
 */
double d;
float f;
BEGIN
{
	d = 7.5;
	f = 0.5;
	i = 3;
	u = (uint64_t)18446744073709551615;
	printf("%g %g %g %g %g\n", d + f, d - f, d * f, d / f, -d);
	printf("%g %g %g %g %g\n", d + i, i - d, d * i, i / d, -f);
	printf("%g %d %g\n", d / 2, 1 / 2, 1 / 2.0);
	printf("%.1f %.1f %g\n", u + 0.0, (uint32_t)-1 * 1.0, (int8_t)-1 + 0.5);
	printf("%g %g %g\n", +d, d - -f, (d + f) * (d - f));
	exit(0);
}
