/*
 * A cast to an integer truncates. A value that is too large becomes the largest integer, and NaN becomes 0.
 * @flags: -q
 */
double d, nan;
BEGIN
{
	d = 2.9;
	nan = (d - d) / (d - d);
	printf("%d %d %d\n", (int)d, (int)-d, (char)(d * 100));
	printf("%d %d\n", (int64_t)(d * 1e30), (int64_t)-(d * 1e30));
	printf("%u %u %u\n", (uint64_t)(d * 5e18), (uint64_t)(d * 1e30), (uint64_t)-d);
	printf("%d %d %d\n", (int64_t)nan, (uint64_t)nan, (int)nan);
	printf("%d %d\n", (int64_t)1e30, (uint64_t)1e19 == 10000000000000000000);
	printf("%d %d %d\n", (_Bool)0.25, (_Bool)0.0, (_Bool)d);
	printf("%.10f %.10f\n", (float)0.1, (double)(float)(d / 29));
	printf("%g %g\n", (double)7, (float)-7);
	exit(0);
}
