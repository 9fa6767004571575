/*
 * -B prints each piece of output that a handler of buffered output receives.
 * @flags: -q -B
 */
BEGIN
{
	printf("%d \"%s\"\n", 1, "a\\b");
	trace(7);
	@["x"] = count();
	@two["y", 2] = sum(3);
	printa("%s %@d\n", @);
	exit(0);
}
