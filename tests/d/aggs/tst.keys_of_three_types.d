/*
 * A string, a pointer and an integer expression can be keys of one aggregation.
 * @flags: -q
 */
int *p;
BEGIN
{
	p = (int *)16;
	@["a", p, 1 + 2] = sum(1);
	@["a", p + 1, 3] = sum(2);
	printa("%s %p %d %@d\n", @);
	exit(0);
}
