/*
 * progenyof is true for the process itself and for its parent, and false for an unknown process.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", progenyof($pid) != 0, progenyof($ppid) != 0,
	    progenyof(99999999) != 0);
	exit(0);
}
