/*
 * Enumerators of the target are integer constants.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/args[0]->color == a.out`BLUE && !done++/
{
	printf("%d %d %d %d\n", a.out`RED, a.out`GREEN, pid$target`BLUE, a.out`DARK);
}
