/*
 * ++ and -- before a variable yield its new value. After a variable, they yield its old value.
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
