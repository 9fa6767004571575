/*
 * printa without clear prints the same values again.
 * @flags: -q
 */
BEGIN
{
	@["x"] = count();
	printa("%s %@d\n", @);
	printa("%s %@d\n", @);
	exit(0);
}
