/*
 * Quiet mode has no row for a clause that only assigns.
 */
#pragma D option quiet

BEGIN
{
	x = 1;
}

BEGIN
{
	printf("%d\n", x);
	exit(0);
}
