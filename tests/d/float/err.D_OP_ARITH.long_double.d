/*
 * D's arithmetic is limited to double and does not include long double.
 */
struct s {
	long double l;
} s;
BEGIN
{
	trace(s.l + 1);
}
