/*
 * An aggregation of integers takes no double.
 */
BEGIN
{
	@a = sum(1);
	@a = sum(1.5);
}
