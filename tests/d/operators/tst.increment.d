/*
 * ++ and -- yield the new value before a variable, and the old value after it.
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
