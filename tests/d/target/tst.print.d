/*
 * print() shows the members of a struct of the target with their names and types.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 * @replace: 0x[0-9a-f]{8,} -> 0xADDRESS
 */
pid$target:a.out:visit:entry
/!done++/
{
	print(*(a.out`record_t *)arg0);
	printf("\n");
	print(((a.out`record_t *)arg0)->color);
	printf("\n");
	print((a.out`record_t *)arg0);
	printf("\n");
	print(((a.out`record_t *)arg0)->words);
}
