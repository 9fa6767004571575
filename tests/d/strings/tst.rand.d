/*
 * rand gives numbers, and not one alone.
 * @flags: -q
 */
BEGIN
{
	a = rand();
	b = rand();
	c = rand();
	printf("%d\n", a != b || b != c);
	exit(0);
}
