/*
 * D computes with double, not with long double.
 */
struct s {
	long double l;
} s;
BEGIN
{
	trace(s.l + 1);
}
