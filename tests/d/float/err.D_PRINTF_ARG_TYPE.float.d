/*
 * %f prints no integer.
 */
BEGIN
{
	printf("%f", 1);
}
