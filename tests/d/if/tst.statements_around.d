/*
 * Statements before, inside and after an if run in program order.
 * @flags: -q
 */
BEGIN
{
	x = 1;
	printf("before ");
	if (x == 1) { x = 2; printf("inside "); }
	printf("behind %d\n", x);
	exit(0);
}
