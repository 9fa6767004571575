/*
 * D programs can compute with floats and doubles in the target's memory.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
/args[0]->weight > 2.25 && args[0]->half == 0.5/
{
	printf("%g %g\n", args[0]->weight * args[0]->half, args[0]->next->weight - 1);
	@ = sum(args[0]->weight);
	@by[args[0]->name] = avg(args[0]->half + arg1);
}
