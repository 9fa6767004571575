/*
 * A double cannot be added to an aggregation of integers.
 */
BEGIN
{
	@a = sum(1);
	@a = sum(1.5);
}
