/*
 * %@Y and %@T print an aggregated time as printf() prints it.
 * @flags: -q
 */
BEGIN
{
	@ = max(1700000000123456789);
	printa("%@Y\n", @);
	printa("%@T\n", @);
	printf("%Y\n%T\n", 1700000000123456789, 1700000000123456789);
	exit(0);
}
