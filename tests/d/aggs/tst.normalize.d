/*
 * normalize divides what is printed, until denormalize.
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
