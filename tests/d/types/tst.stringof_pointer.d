/*
 * stringof makes a string from the characters that a pointer points to.
 * @flags: -q
 */
BEGIN
{
	this->p = (char *)alloca(4);
	this->p[0] = 'o';
	this->p[1] = 'k';
	this->p[2] = '\0';
	printf("%s\n", stringof(this->p));
	printf("%s\n", (string)this->p);
	exit(0);
}
