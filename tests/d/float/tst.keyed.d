/*
 * Aggregated doubles are sorted by value and can be normalized.
 * @flags: -q
 */
BEGIN
{
	@["a"] = sum(2.5);
	@["b"] = sum(-2.5);
	@["c"] = sum(2.25);
	@["b"] = sum(0.75);
	printa("%s %@f %@.2f %@g %@d\n", @);
	normalize(@, 2);
	printa("%s %@f\n", @);
	denormalize(@);
	trunc(@, 1);
	printa(@);
	clear(@);
	printa("%s %@g\n", @);
	exit(0);
}
