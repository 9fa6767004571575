/*
 * A key prints under the conversions that a value of its type has.
 * @flags: -q
 */
BEGIN
{
	@[0, 'c', "a\tb"] = count();
	printa("%Y %c %S %@u\n", @);
	exit(0);
}
