/*
 * At a function's entry, args[] are its parameters, which may be in registers or on the stack.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
{
	printf("%s %d %s\n", args[0]->name, args[1], stringof(args[2]));
}
pid$target:a.out:mixed:entry
{
	printf("%d %d %d %d %d\n", args[0].a[2], args[2], args[4], args[6], args[7]);
}
pid$target:a.out:many:entry
{
	printf("%c %d %d %d %d %d %d %d %d\n", args[0], args[1], args[2], args[3], args[4],
	    args[5], args[6], args[7], args[8]);
}
