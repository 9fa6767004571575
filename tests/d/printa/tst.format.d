/*
 * Conversions print the keys in their order, and %@ prints the value.
 * @flags: -q
 */
BEGIN
{
	@["a", 1] = sum(10);
	@["b", 2] = sum(20);
	printa("%s=%d:%@d\n", @);
	printa("%-3s|%3d|%@5d|%@x\n", @);
	exit(0);
}
