/*
 * -B shows the pieces in which a handler of buffered output receives the output.
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
