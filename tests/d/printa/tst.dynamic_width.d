/*
 * A * in the format of printa takes the width from a key.
 * @flags: -q
 */
BEGIN
{
	@[10, 100] = sum(1);
	@[-10, 200] = sum(2);
	printa(">%*d< %@d\n", @);
	printa(">%-*d<\n", @);
	exit(0);
}
