/*
 * A thread-local array may have string values and keys of different types.
 * @flags: -q
 */
BEGIN
{
	self->name["a", 1] = "one";
	self->name["a", 2] = "two";
	self->name["a", 1] = NULL;
	printf("%d %s\n", self->name["a", 1] == NULL, self->name["a", 2]);
	exit(0);
}
