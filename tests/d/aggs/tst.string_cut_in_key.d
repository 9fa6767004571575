/*
 * A string key is truncated to strsize.
 * @flags: -q -x strsize=8
 */
BEGIN
{
	@["abcdefgh1"] = count();
	@["abcdefgh2"] = count();
	printa("%s %@d\n", @);
	exit(0);
}
