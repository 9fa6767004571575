/*
 * Inlines may have floating-point types, with or without parameters.
 * @flags: -q
 */
inline double pi = 3.25;
inline double half[double x] = x / 2;
inline float third = 1;
inline int whole = 2.75;
BEGIN
{
	printf("%g %g %g %g %d\n", pi * 2, half[3], half[pi], third / 4, whole);
	exit(0);
}
