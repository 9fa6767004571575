/*
 * The value of an enumerator may be an expression of earlier enumerators.
 * @flags: -q
 */
enum { A = 4, B = A * 2, C = (B << 1) | 1, D = sizeof (int) };

BEGIN
{
	printf("%d %d %d %d\n", A, B, C, D);
	exit(0);
}
