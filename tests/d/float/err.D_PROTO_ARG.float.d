/*
 * A subroutine that takes an integer takes no double.
 */
BEGIN
{
	trace(lltostr(1.5));
}
