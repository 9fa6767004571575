/*
 * The this pointer, base members, references, and names without their namespace can be used.
 * @command: classes
 * @flags: -q
 * @replace: ^\d+\n -> 
 */
pid$target:a.out:zoo??Animal??walk*:entry
{
	printf("%s %d %d %d %d\n", stringof(args[0]->name), args[0]->legs_, args[0]->count, args[0]->kind_,
	    args[1]);
	@[a.out`total] = count();
}
pid$target:a.out:zoo??Animal??meet*:entry
{
	printf("%s %d %d\n", stringof(args[1]->name), args[2], args[2] == a.out`fish);
	printf("%d\n", ((a.out`Animal *)arg1)->count + ((a.out`Counted *)(arg1 + 16))->count);
}
