/*
 * A clause prints a row only if it stores data.
 * exit() and an empty clause store data. Assignments,
 * aggregations and subroutines store none.
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
	strlen("text");
	this->copy = strjoin("a", "b");
}

BEGIN
{
}

BEGIN
/x/
{
	trace(self->y);
}

BEGIN
{
	printf("no value");
}

BEGIN
{
	exit(0);
}
