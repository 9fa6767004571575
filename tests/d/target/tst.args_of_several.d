/*
 * args[n] may be used in a clause of several functions when it is the same in all of them.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry,
pid$target:a.out:find:entry
{
	printf("%s %s %d\n", probefunc, args[0]->name, args[1]);
}
