/*
 * Pointers can be compared with each other and with NULL.
 * @flags: -q
 */
int *p;
int *q;

BEGIN
{
	p = (int *)100;
	q = (int *)200;
	printf("%d%d%d%d\n", p < q, p == q, p != NULL, p == (void *)100);
	exit(0);
}
