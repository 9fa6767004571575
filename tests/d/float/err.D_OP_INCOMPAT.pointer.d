/*
 * A pointer and a double cannot be added.
 */
int *p;
BEGIN
{
	trace(p + 1.0);
}
