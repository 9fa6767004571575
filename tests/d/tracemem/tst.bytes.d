/*
 * tracemem dumps the bytes at an address.
 * @flags: -q
 */
BEGIN
{
	this->p = (char *)alloca(20);
	bcopy("0123456789\001\002\003\177\377", this->p, 16);
	tracemem(this->p, 20);
	exit(0);
}
