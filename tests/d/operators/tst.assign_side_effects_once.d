/*
 * op= and ++ evaluate the index of an element only once.
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
