/*
 * ++ wraps in the type of its variable.
 * @flags: -q
 */
unsigned char c;
int8_t s;

BEGIN
{
	c = 255;
	c++;
	s = 127;
	s++;
	printf("%d %d\n", c, s);
	c--;
	printf("%d\n", c);
	exit(0);
}
