/*
 * A thread-local variable may be an associative array with several keys.
 * @flags: -q
 */
self int count[string, int];

BEGIN
{
	self->count["a", 1] = 10;
	self->count["a", 2] = 20;
	self->count["b", 1] = 30;
	printf("%d %d %d %d\n", self->count["a", 1], self->count["a", 2],
	    self->count["b", 1], self->count["b", 2]);
	exit(0);
}
