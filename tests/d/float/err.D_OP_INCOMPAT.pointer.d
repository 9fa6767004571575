/*
 * An address and a double do not add up.
 */
int *p;
BEGIN
{
	trace(p + 1.0);
}
