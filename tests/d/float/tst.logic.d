/*
 * A double other than 0 is true in a predicate and in if, ?:, !, &&, || and ^^.
 * @flags: -q
 */
double d, zero;
BEGIN
{
	d = 0.1;
	printf("%d%d %d%d %d%d %d\n", !d, !zero, d && 1, d && zero, d || 0, zero || 0, d ^^ zero);
	printf("%g %g\n", d ? 1.5 : 2, zero ? 1 : 2.5);
}
BEGIN
/d/
{
	printf("predicate\n");
}
BEGIN
/zero/
{
	printf("not this\n");
}
BEGIN
{
	if (d) {
		printf("if\n");
	}
	if (zero) {
		printf("not this\n");
	} else {
		printf("else\n");
	}
	exit(0);
}
