/*
 * && and || evaluate the right side only if they need it. ^^ always evaluates both sides.
 * @flags: -q
 */
BEGIN
{
	x = 0;
	r = 0 && (x = 1);
	printf("%d %d\n", r, x);
	r = 1 || (x = 2);
	printf("%d %d\n", r, x);
	r = 1 && (x = 3);
	printf("%d %d\n", r, x);
	r = 0 || (x = 0);
	printf("%d %d\n", r, x);
	r = 1 ^^ (x = 4);
	printf("%d %d\n", r, x);
	exit(0);
}
