/*
 * The constants of an enum count up from zero, or from an explicit value.
 * @flags: -q
 */
enum colour { RED, GREEN = 5, BLUE, BLACK = -1, GREY };
enum colour c;

BEGIN
{
	c = BLUE;
	printf("%d %d %d %d %d %d\n", RED, GREEN, BLUE, BLACK, GREY, c);
	printf("%d\n", sizeof (enum colour));
	exit(0);
}
