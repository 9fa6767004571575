/*
 * ^^ binds less than && and more than ||.
 * @flags: -q
 */
BEGIN
{
	printf("%d\n", 1 ^^ 1 && 0);
	printf("%d\n", 1 || 1 ^^ 1);
	printf("%d\n", 0 && 1 ^^ 1);
	exit(0);
}
