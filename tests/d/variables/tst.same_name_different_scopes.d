/*
 * A global, thread-local and clause-local variable and an aggregation may have the same name.
 * @flags: -q
 */
BEGIN
{
	x = 1;
	self->x = 2;
	this->x = 3;
	@x = sum(4);
	printf("%d %d %d\n", x, self->x, this->x);
	exit(0);
}
