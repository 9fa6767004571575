/*
 * A process descends from itself and from its parent, not from a process that is not there.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", progenyof($pid) != 0, progenyof($ppid) != 0,
	    progenyof(99999999) != 0);
	exit(0);
}
