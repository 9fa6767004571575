/*
 * printa without a format begins with a blank line and prints keys and values in columns.
 * @flags: -q
 */
BEGIN
{
	@["a", 1] = sum(7);
	@["b", 2] = sum(8);
	printa(@);
	exit(0);
}
