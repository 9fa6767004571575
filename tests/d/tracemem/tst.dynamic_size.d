/*
 * The third argument of tracemem limits the number of bytes that are shown.
 * @flags: -q
 */
BEGIN
{
	this->p = (char *)alloca(16);
	this->p[0] = 1;
	n = 2;
	tracemem(this->p, 16, n);
	tracemem(this->p, 16, 0);
	tracemem(this->p, 4, 100);
	tracemem(this->p, 4, -1);
	exit(0);
}
