/*
 * Quiet mode prints nothing for a clause that contains only assignments.
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
