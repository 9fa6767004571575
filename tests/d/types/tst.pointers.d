/*
 * Pointer arithmetic counts in objects, not in bytes.
 * @flags: -q
 */
int *p;
char *c;

BEGIN
{
	p = (int *)1000;
	c = (char *)1000;
	printf("%d %d\n", (uintptr_t)(p + 3), (uintptr_t)(c + 3));
	printf("%d\n", (p + 10) - (p + 4));
	p++;
	p += 2;
	printf("%d %d\n", (uintptr_t)p, p > (int *)1000);
	exit(0);
}
