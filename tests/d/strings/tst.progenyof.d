/*
 * A process descends from itself and from its parent, but not from a process that does not exist.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", progenyof($pid) != 0, progenyof($ppid) != 0,
	    progenyof(99999999) != 0);
	exit(0);
}
