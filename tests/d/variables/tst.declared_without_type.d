/*
 * self and this without a type declare an int.
 * @flags: -q
 */
self count;
this part, other;
BEGIN
{
	self->count = 0x100000002;
	this->part = 4;
	this->other++;
	printf("%d %d %d %d\n", self->count, this->part, this->other, sizeof (self->count));
	exit(0);
}
