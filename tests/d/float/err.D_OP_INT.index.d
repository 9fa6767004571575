/*
 * An index wants an integer.
 */
int a[4];
BEGIN
{
	trace(a[1.0]);
}
