/*
 * agghist draws negative sums as bars to the left of the axis.
 * @flags: -q -x agghist
 */
BEGIN
{
	@below["a"] = sum(-4);
	@below["b"] = sum(-12);
	@both["c"] = sum(-3);
	@both["d"] = sum(9);
	exit(0);
}
