/*
 * An enum's value may be an expression of earlier constants.
 * @flags: -q
 */
enum { A = 4, B = A * 2, C = (B << 1) | 1, D = sizeof (int) };

BEGIN
{
	printf("%d %d %d %d\n", A, B, C, D);
	exit(0);
}
