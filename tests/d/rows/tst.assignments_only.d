/*
 * A clause prints no row if none of its statements store data. Assignments, aggregations
 * and subroutines store none. exit() stores its status, and an empty clause records its
 * probe, so both print a row.
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
