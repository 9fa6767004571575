/*
 * A string plus a number is the rest of the string from the character at that index.
 * @flags: -q -x strsize=16
 */
BEGIN
{
	g = "abcdef";
	this->l = "12345";
	self->t = "thread";
	a[1] = "element";
	printf("%s %s %s %s %s\n", g + 1, 2 + this->l, self->t + 3, a[1] + 4,
	    "constant" + 5);
	printf("%s %d %s\n", execname + 1, strlen(g + 2), strjoin(g + 4, "!"));
	this->p = g + 3;
	printf("%s %s [%s]\n", this->p, g + 3 - 1, g + 6);
	printf("%d %c\n", g + 1 == "bcdef", (g + 1)[1]);
	exit(0);
}
