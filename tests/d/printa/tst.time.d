/*
 * A key may be printed with any conversion for its type.
 * @flags: -q
 */
BEGIN
{
	@[0, 'c', "a\tb"] = count();
	printa("%Y %c %S %@u\n", @);
	exit(0);
}
