/*
 * ++ and -- before a variable give the new value, behind it the old one.
 * @flags: -q
 */
BEGIN
{
	x = 5;
	printf("%d ", x++);
	printf("%d ", x);
	printf("%d ", ++x);
	printf("%d ", x--);
	printf("%d ", --x);
	printf("%d\n", x);
	exit(0);
}
