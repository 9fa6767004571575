/*
 * Each of a thousand elements keeps its own value.
 * @flags: -q
 */
int n;

tick-1ms / n < 1000 /
{
	a[n] = n * 2; n++; a[n] = n * 2; n++; a[n] = n * 2; n++; a[n] = n * 2; n++;
	a[n] = n * 2; n++; a[n] = n * 2; n++; a[n] = n * 2; n++; a[n] = n * 2; n++;
	a[n] = n * 2; n++; a[n] = n * 2; n++;
}

tick-1ms / n >= 1000 /
{
	printf("%d %d %d %d\n", a[1], a[500], a[999], a[1000]);
	exit(0);
}
