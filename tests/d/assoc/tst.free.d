/*
 * Storing zero removes an element. A removed element reads as zero, and can be set again.
 * @flags: -q
 */
BEGIN
{
	a[1] = 5;
	a[1] = 0;
	printf("%d\n", a[1]);
	a[1] = 6;
	printf("%d\n", a[1]);
	exit(0);
}
