/*
 * The scope of a type may be empty, a module, a process or both. It precedes or follows the word struct.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/!done++/
{
	printf("%d ", ((struct a.out`record *)arg0)->at.x);
	printf("%d ", ((a.out`struct record *)arg0)->at.x);
	printf("%d ", ((a.out`record_t *)arg0)->at.x);
	printf("%d ", ((pid$target`struct   record *)arg0)->at.x);
	printf("%d ", ((struct pid$target`record *)arg0)->at.x);
	printf("%d ", ((pid$target`a.out`record_t *)arg0)->at.x);
	printf("%d ", ((pid$target`records`record_t *)arg0)->at.x);
	printf("%d ", ((`record_t *)arg0)->at.x);
	printf("%d\n", ((const volatile a.out`record_t *)arg0)->at.x);
	printf("%d %d %d\n", sizeof (union a.out`number), sizeof (a.out`union number),
	    sizeof (enum a.out`color));
}
