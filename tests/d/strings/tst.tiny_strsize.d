/*
 * strsize may be as small as 3. A string holds one character less than strsize.
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
