/*
 * stddev is correct for values of very different sizes.
 * @flags: -q
 */
BEGIN
{
	@ = stddev(-100); @ = stddev(0); @ = stddev(100); @ = stddev(1000000);
	exit(0);
}
