/*
 * A condition is evaluated once; changing its variable in a branch does not change the choice.
 * @flags: -q
 */
BEGIN
{
	x = 1;
	if (x) { x = 0; printf("then\n"); } else { printf("else\n"); }
	printf("%d\n", x);
	exit(0);
}
