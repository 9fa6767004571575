/*
 * The address of a member is the address of its struct plus the member's offset.
 * @flags: -q
 */
struct pair { int a; int b; };
struct pair *p;

BEGIN
{
	p = (struct pair *)0x1000;
	printf("%x %x\n", (uintptr_t)&p->a, (uintptr_t)&p->b);
	exit(0);
}
