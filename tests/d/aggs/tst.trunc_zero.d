/*
 * trunc to 0 keys removes all keys.
 * @flags: -q
 */
BEGIN
{
	@["a"] = sum(1); @["b"] = sum(4);
	trunc(@, 0);
	printa("%s %@d\n", @);
	exit(0);
}
