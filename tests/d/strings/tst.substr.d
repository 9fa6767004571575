/*
 * The start and the length that are passed to substr may be negative.
 * @flags: -q
 */
BEGIN
{
	printf("[%s] [%s] [%s]\n", substr("foobarbaz", 0), substr("foobarbaz", 3),
	    substr("foobarbaz", 9));
	printf("[%s] [%s] [%s]\n", substr("foobarbaz", 3, 3), substr("foobarbaz", 6, 9),
	    substr("foobarbaz", 3, 0));
	printf("[%s] [%s] [%s]\n", substr("foobarbaz", -3), substr("foobarbaz", -6, 3),
	    substr("foobarbaz", -20));
	printf("[%s] [%s]\n", substr("foobarbaz", -12, 6), substr("foobarbaz", 10));
	printf("[%s] [%s] [%s]\n", substr("foobarbaz", 3, -3), substr("foobarbaz", 0, -9),
	    substr("foobarbaz", 0, -1));
	exit(0);
}
