/*
 * memstr replaces each NUL except the last one with a character.
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
