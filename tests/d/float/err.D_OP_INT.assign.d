/*
 * &= needs integers.
 */
double d;
BEGIN
{
	d &= 1;
}
