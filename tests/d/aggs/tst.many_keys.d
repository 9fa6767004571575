/*
 * An aggregation may have many keys, of several types.
 * @flags: -q
 */
BEGIN
{
	@["a", 1, (char)2, pid - pid] = count();
	@["a", 1, (char)2, pid - pid] = count();
	@["a", 1, (char)3, pid - pid] = count();
	printa("%s %d %d %d %@d\n", @);
	exit(0);
}
