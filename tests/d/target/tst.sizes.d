/*
 * sizeof and offsetof take types of the target.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/!done++/
{
	printf("%d %d %d %d\n", sizeof (a.out`record_t), sizeof (struct a.out`tail),
	    sizeof (args[0]->name), sizeof (args[0]->weight));
	printf("%d %d %d\n", offsetof(a.out`record_t, text), offsetof(struct a.out`record, wide),
	    offsetof(a.out`record_t, grid));
}
