/*
 * %d cannot print a double.
 */
BEGIN
{
	printf("%d", 1.5);
}
