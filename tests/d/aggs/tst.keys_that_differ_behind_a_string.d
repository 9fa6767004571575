/* Two keys are distinct if only the value directly before or after a string is different. */
#pragma D option quiet
#pragma D option strsize=12

BEGIN
{
	@a["abc", (char)1] = count();
	@a["abc", (char)2] = count();
	@a["abcdefghijk", (char)2] = count();
	@b[(char)1, "abc"] = count();
	@b[(char)2, "abc"] = count();
	@b[(char)2, "abcd"] = count();
	@c["abcdefg"] = count();
	@c["abcdefgh"] = count();
	@c["abcdefghi"] = count();
	@c["abcdefghijk"] = count();
	@c["abcdefghijklm"] = count();
	@c[""] = count();
	@c["abcdefgh"] = count();
	@c["abcdefg"] = count();
	@d["abcdefgh", ""] = count();
	@d["", "abcdefgh"] = count();
	@d["abcdefgh", "abcdefghij"] = count();
	exit(0);
}
END
{
	printa("%s %d %@d\n", @a);
	printa("%d %s %@d\n", @b);
	printa("%s %@d\n", @c);
	printa("%s,%s %@d\n", @d);
}
