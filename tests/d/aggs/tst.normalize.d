/*
 * normalize divides the printed values until denormalize is called.
 * @flags: -q
 */
BEGIN
{
	@["a"] = sum(155);
	normalize(@, 10);
	printa("%s %@d\n", @);
	normalize(@, 7);
	printa("%s %@d\n", @);
	denormalize(@);
	printa("%s %@d\n", @);
	exit(0);
}
