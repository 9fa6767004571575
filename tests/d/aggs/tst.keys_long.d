/*
 * A string key that is longer than its column is not truncated.
 * @flags: -q
 */
BEGIN
{
	@["0123456789012345678901234567890123456789012345678901234567890123456789"] =
	    count();
	exit(0);
}
