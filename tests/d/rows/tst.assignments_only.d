/*
 * A clause whose actions store no data prints no row: assignments, aggregations and
 * subroutines. exit() stores its status, and an empty clause records its probe: both
 * print a row.
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
