/*
 * ++ and -- before a variable yield the new value, after it the old one.
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
