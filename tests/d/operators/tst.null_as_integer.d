/*
 * NULL is 0 where an integer is expected.
 * @flags: -q
 */
int global;
BEGIN
{
	self->buf = arg0;
	self->buf = 5;
	self->buf = NULL;
	global = NULL;
	list[1] = 4;
	list[NULL] = 6;
	printf("%d %d %d %d\n", self->buf, global, list[0], self->buf == NULL);
	printf("%d %d\n", NULL, 0 ? 7 : NULL);
	first = NULL;
	first = timestamp != 0;
	keyed[NULL] = 8;
	printf("%d %d\n", first, keyed[0]);
	exit(0);
}
