/*
 * printa without a format prints a blank line, and then keys and values in columns.
 * @flags: -q
 */
BEGIN
{
	@["a", 1] = sum(7);
	@["b", 2] = sum(8);
	printa(@);
	exit(0);
}
