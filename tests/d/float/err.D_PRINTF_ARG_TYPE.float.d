/*
 * %f cannot print an integer.
 */
BEGIN
{
	printf("%f", 1);
}
