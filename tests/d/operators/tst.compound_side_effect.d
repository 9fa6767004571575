/*
 * A compound assignment reads its left side before its right side: x += x++ doubles the old
 * value of x.
 * @flags: -q
 */
BEGIN
{
	x = 4;
	x += x++;
	a[1] = 4;
	a[1] += a[1]++;
	self->s = 10;
	self->s -= self->s++;
	this->y = 3;
	this->y *= ++this->y;
	printf("%d %d %d %d\n", x, a[1], self->s, this->y);
	exit(0);
}
