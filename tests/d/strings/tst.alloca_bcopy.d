/*
 * alloca returns memory that is filled with zeros, and bcopy can copy into this memory.
 * @flags: -q
 */
BEGIN
{
	this->p = (char *)alloca(8);
	bcopy("hello", this->p, 3);
	printf("%s %d\n", stringof(this->p), this->p[3]);
	exit(0);
}
