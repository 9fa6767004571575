/*
 * args[n] may be used in a clause of several functions if they agree on its type and location.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry,
pid$target:a.out:find:entry
{
	printf("%s %s %d\n", probefunc, args[0]->name, args[1]);
}
