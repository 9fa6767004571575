/*
 * A subroutine that takes an integer does not accept a double.
 */
BEGIN
{
	trace(lltostr(1.5));
}
