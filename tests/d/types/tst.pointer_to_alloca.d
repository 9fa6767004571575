/*
 * Memory from alloca can be written and read through a pointer.
 * @flags: -q
 */
BEGIN
{
	this->p = (int *)alloca(4 * sizeof (int));
	this->p[0] = 7;
	*(this->p + 2) = 9;
	printf("%d %d\n", *this->p, this->p[2]);
	exit(0);
}
