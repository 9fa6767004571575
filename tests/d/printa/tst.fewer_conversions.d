/*
 * A format may omit keys and the value.
 * @flags: -q
 */
BEGIN
{
	@["a", 1] = sum(10);
	printa("%s\n", @);
	printa("text\n", @);
	exit(0);
}
