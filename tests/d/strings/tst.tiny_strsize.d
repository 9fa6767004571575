/*
 * strsize may be any size: strings have one byte less.
 * @flags: -q -x strsize=3
 */
BEGIN
{
	x = "abcdefgh";
	a["keys"] = "values";
	self->s = strjoin("o", "t");
	printf("[%s] [%s] [%s] [%s] %d\n", x, a["ke"], self->s, substr("hello", 1), sizeof(string));
	@[x] = count();
	printa("%s %@d\n", @);
	exit(0);
}
