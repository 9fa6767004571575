/*
 * memstr puts a character in place of each NUL but the last.
 * @flags: -q
 */
BEGIN
{
	this->p = (char *)alloca(8);
	bcopy("ab", this->p, 3);
	bcopy("cd", this->p + 3, 3);
	printf("%s\n", memstr(this->p, ' ', 6));
	exit(0);
}
