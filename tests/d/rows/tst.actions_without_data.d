/*
 * raise(), speculation(), commit() and discard() store no data and print no row. A
 * clause with only speculate() speculates the default action. A clause with speculate()
 * and an assignment speculates nothing.
 * @flags: -w
 * @command: spin 10 1
 * @replace: ^ +\d+( +1 +:BEGIN) -> CPU\1
 * @replace: ^ +\d+ +\d+( +:END) -> CPU ID\1
 * @replace: ^ +\d+ +\d+( +work:entry) -> CPU ID\1
 */
BEGIN
{
	s = speculation();
}

BEGIN
{
	speculate(s);
	x = 1;
}

BEGIN
{
	speculate(s);
}

BEGIN
{
	commit(s);
}

BEGIN
{
	discard(0);
}

pid$target:a.out:work:entry
/arg0 == 5/
{
	raise(SIGTERM);
}

pid$target:a.out:work:entry
/arg0 == 5/
{
	trace("raised");
}

END
{
	n = 1;
}
