/*
 * rand returns different numbers.
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
