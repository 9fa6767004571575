/*
 * D can compute with float and double, but not with long double.
 */
struct s {
	long double l;
} s;
BEGIN
{
	trace(s.l + 1);
}
