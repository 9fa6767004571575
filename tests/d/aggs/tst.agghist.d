/*
 * agghist draws counts and sums as bars in one table, with one row for each key.
 * @flags: -q -x agghist
 */
BEGIN
{
	@c["bash"] = count();
	@c["ls"] = count();
	@c["ls"] = count();
	@c["ls"] = count();
	@s[1, "a"] = sum(12);
	@s[2, "bc"] = sum(4);
	@alone = count();
	@max["m"] = max(5);
	exit(0);
}
