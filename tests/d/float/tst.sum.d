/*
 * sum, avg, min, max and stddev accept doubles; integers among them become doubles.
 * @flags: -q
 */
double v;
BEGIN
{
	@sum = sum(0.5);
	@sum = sum(2);
	@sum = sum(-0.25);
	@avg = avg(1.5);
	@avg = avg(2);
	@min = min(0.5);
	@min = min(-1.5);
	@max = max(-3.5);
	@max = max(-2.25);
	@stddev = stddev(1.0);
	@stddev = stddev(2.0);
	@stddev = stddev(4.5);
	v = 1e300;
	@large = sum(v);
	@large = sum(v * 1e10);
	exit(0);
}
