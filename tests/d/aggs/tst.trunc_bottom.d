/*
 * trunc with a negative number keeps that many of the smallest values.
 * @flags: -q
 */
BEGIN
{
	@["a"] = sum(1); @["b"] = sum(4); @["c"] = sum(3); @["d"] = sum(2);
	trunc(@, -2);
	printa("%s %@d\n", @);
	exit(0);
}
