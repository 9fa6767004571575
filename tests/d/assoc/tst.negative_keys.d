/*
 * Negative keys are keys of their own.
 * @flags: -q
 */
BEGIN
{
	a[-1] = 1;
	a[1] = 2;
	printf("%d %d %d\n", a[-1], a[1], a[0]);
	exit(0);
}
