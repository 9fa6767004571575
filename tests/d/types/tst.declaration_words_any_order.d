/*
 * The words of a type may be in any order.
 * @flags: -q
 */
long unsigned int a;
int short b;
long int long unsigned c;

BEGIN
{
	printf("%d %d %d\n", sizeof (a), sizeof (b), sizeof (c));
	exit(0);
}
