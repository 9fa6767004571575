/*
 * Rows are sorted by value, and by key if the values are equal.
 * @flags: -q
 */
BEGIN
{
	@["b"] = sum(2);
	@["a"] = sum(2);
	@["c"] = sum(1);
	@["d"] = sum(-3);
	exit(0);
}
