/*
 * A condition is evaluated only once, even if a branch changes a variable in it.
 * @flags: -q
 */
BEGIN
{
	x = 1;
	if (x) { x = 0; printf("then\n"); } else { printf("else\n"); }
	printf("%d\n", x);
	exit(0);
}
