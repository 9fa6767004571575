/*
 * Pointers and integers can be cast to each other.
 * @flags: -q
 */
BEGIN
{
	this->p = (char *)0xffffffff12345678;
	printf("%x %x %x\n", (uintptr_t)this->p, (uint32_t)(uintptr_t)this->p,
	    (uintptr_t)(this->p + 8));
	exit(0);
}
