/*
 * %d prints no double.
 */
BEGIN
{
	printf("%d", 1.5);
}
