/*
 * A store to a narrow unsigned type keeps the low bits.
 * @flags: -q
 */
unsigned char c;
unsigned short s;
unsigned int i;

BEGIN
{
	c = -1;
	s = -1;
	i = -1;
	printf("%d %d %d\n", c, s, i);
	printf("%d %d\n", (unsigned char)0x1ff, (uint16_t)0x12345);
	exit(0);
}
