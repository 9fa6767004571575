/*
 * A thread-local variable keeps its value until zero is stored in it.
 * @flags: -q
 */
BEGIN
{
	self->a = 5;
	self->s = "text";
}

BEGIN
{
	printf("%d %s\n", self->a, self->s);
	self->a = 0;
	self->s = NULL;
}

BEGIN
{
	printf("%d %d\n", self->a, self->s == NULL);
	exit(0);
}
