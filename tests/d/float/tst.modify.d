/*
 * op=, ++ and -- modify doubles and floats; op= may also combine an integer with a double.
 * @flags: -q
 */
double d;
float f;
double a[int];
int i;
BEGIN
{
	d = 10;
	d += 2.5;
	d -= 1;
	d *= 2;
	d /= 4;
	printf("%g\n", d);
	f = 1;
	f += 0.1;
	printf("%g %g %g %g %g\n", f++, ++f, f--, --f, f);
	a[1] += 1.5;
	a[1]++;
	printf("%g %g %g\n", a[1], a[2]++, a[2]);
	i = 10;
	i *= 0.25;
	i += 0.9;
	printf("%d\n", i);
	exit(0);
}
