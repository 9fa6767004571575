/*
 * A store to a narrow signed type keeps the low bits and extends their sign.
 * @flags: -q
 */
char c;
short s;
int i;

BEGIN
{
	c = 0x180;
	s = 0x18000;
	i = 0x180000000;
	printf("%d %d %d\n", c, s, i);
	printf("%d %d\n", (char)0xff, (short)0xffff);
	exit(0);
}
