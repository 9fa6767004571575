/*
 * Names consist of letters, digits and underscores, and case matters.
 * @flags: -q
 */
BEGIN
{
	_a1 = 1;
	A1 = 2;
	a1 = 3;
	__ = 4;
	printf("%d %d %d %d\n", _a1, A1, a1, __);
	exit(0);
}
