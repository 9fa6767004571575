/*
 * An expression that needs more registers than are available is refused.
 * @flags: -x iregs=3
 */
int a, b;
BEGIN
{
	x = ((a + b) * (a - b)) / ((a + 1) * (b + 1)) +
	    ((a * b) - (a / 3)) * ((b / 3) + (a % 5));
}
