/*
 * At a function's return, args[1] is the returned value, which may be a large struct.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:return
{
	printf("%d %d\n", args[1], args[0] == arg0);
}
pid$target:a.out:make_large:return
{
	printf("%d %d %d\n", args[1].a[0], args[1].a[3], sizeof (args[1]));
}
pid$target:a.out:find:return
/args[1]/
{
	printf("%s\n", args[1]->name);
}
