/*
 * A clause whose only actions are assignments prints an empty record line; one whose
 * only recording is an aggregation prints nothing.
 * @replace: ^ +\d+( +1 +:BEGIN) -> CPU\1
 */
BEGIN
{
	x = 1;
}

BEGIN
{
	@ = count();
}

BEGIN
{
	self->y = x;
	@a[x] = sum(self->y);
}

BEGIN
{
	trace(self->y);
	exit(0);
}
