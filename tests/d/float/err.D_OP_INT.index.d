/*
 * An index must be an integer.
 */
int a[4];
BEGIN
{
	trace(a[1.0]);
}
