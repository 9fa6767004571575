/*
 * Doubles can be compared. Every comparison with a NaN is false, except that != is true.
 * @flags: -q
 */
double a, b, nan;
BEGIN
{
	a = 1.5;
	b = 2;
	nan = a - a;
	nan = nan / nan;
	printf("%d%d%d%d%d%d\n", a < b, a <= b, a > b, a >= b, a == b, a != b);
	printf("%d%d%d%d%d%d\n", a < a, a <= a, a > a, a >= a, a == a, a != a);
	printf("%d%d%d%d%d%d\n", nan < a, nan <= a, nan > a, nan >= a, nan == nan, nan != nan);
	printf("%d%d%d\n", a < 2, 1 < a, a == 1.5);
	printf("%d%d\n", -0.0 == 0.0, (uint64_t)-1 > 1.0);
	exit(0);
}
