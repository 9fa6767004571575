/*
 * A variable that was not set is zero.
 * @flags: -q
 */
int declared;

BEGIN / later == 0 /
{
	printf("%d\n", declared);
	later = 5;
	exit(0);
}
