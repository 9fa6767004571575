/*
 * In BEGIN and tick, progenyof() is true for dtrace itself and for its ancestors only.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", progenyof($pid), progenyof($ppid), progenyof(1));
	printf("%d\n", progenyof(2147483646));
}

tick-10ms
{
	printf("%d %d\n", progenyof($pid), progenyof(1));
	exit(0);
}
