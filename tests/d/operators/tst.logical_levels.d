/*
 * ^^ binds less tightly than && and more tightly than ||.
 * @flags: -q
 */
BEGIN
{
	printf("%d\n", 1 ^^ 1 && 0);
	printf("%d\n", 1 || 1 ^^ 1);
	printf("%d\n", 0 && 1 ^^ 1);
	exit(0);
}
