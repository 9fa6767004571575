/*
 * A long string key is not truncated.
 * @flags: -q
 */
BEGIN
{
	@["0123456789012345678901234567890123456789012345678901234567890123456789"] =
	    count();
	exit(0);
}
