/*
 * %@ accepts flags, a width and the conversions of integers.
 * @flags: -q
 */
BEGIN
{
	@["k"] = sum(255);
	printa("[%-6s][%@8d][%@-8d][%@08d][%@x][%#@x][%@u][%@o]\n", @);
	exit(0);
}
