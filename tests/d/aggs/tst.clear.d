/*
 * clear keeps the keys and sets the values to zero.
 * @flags: -q
 */
BEGIN
{
	@["a"] = sum(5);
	@["b"] = sum(6);
	printa("%s %@d\n", @);
	clear(@);
	printa("%s %@d\n", @);
	exit(0);
}
