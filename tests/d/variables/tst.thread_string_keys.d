/*
 * Thread-local elements may have string values and mixed keys.
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
