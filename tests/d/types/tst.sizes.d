/*
 * The basic types have the sizes of the LP64 data model.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d %d\n", sizeof (char), sizeof (short), sizeof (int),
	    sizeof (long), sizeof (long long));
	printf("%d %d %d %d\n", sizeof (float), sizeof (double),
	    sizeof (long double), sizeof (void *));
	printf("%d %d\n", sizeof (unsigned), sizeof (signed char));
	exit(0);
}
