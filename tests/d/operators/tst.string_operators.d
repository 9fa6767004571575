/*
 * Strings can be compared with all six comparison operators.
 * @flags: -q
 */
string a;
string b;

BEGIN
{
	a = "alpha";
	b = "beta";
	printf("%d%d%d%d%d%d\n", a < b, a <= b, a > b, a >= b, a == b, a != b);
	printf("%d%d%d%d%d%d\n", a < a, a <= a, a > a, a >= a, a == a, a != a);
	exit(0);
}
