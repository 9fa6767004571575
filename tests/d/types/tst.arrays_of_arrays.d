/*
 * An array may have arrays as its elements.
 * @flags: -q
 */
int m[2][3];

BEGIN
{
	m[0][0] = 1;
	m[1][2] = 6;
	m[1][0] = 4;
	printf("%d %d %d %d %d\n", m[0][0], m[1][0], m[1][2], sizeof (m),
	    sizeof (m[0]));
	exit(0);
}
