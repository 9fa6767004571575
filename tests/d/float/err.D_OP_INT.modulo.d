/*
 * % needs integers.
 */
BEGIN
{
	trace(5.5 % 2);
}
