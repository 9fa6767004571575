/*
 * The difference of two pointers is a number of objects, not of bytes.
 * @flags: -q
 */
struct wide { char c[24]; };
BEGIN
{
	this->a = (struct wide *)240;
	this->b = (struct wide *)0;
	printf("%d %d\n", this->a - this->b, this->b - this->a);
	exit(0);
}
