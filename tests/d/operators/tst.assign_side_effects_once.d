/*
 * The index of an element is evaluated once when the element is changed.
 * @flags: -q
 */
BEGIN
{
	i = 0;
	a[i++] += 7;
	a[i++]++;
	printf("%d %d %d\n", a[0], a[1], i);
	exit(0);
}
