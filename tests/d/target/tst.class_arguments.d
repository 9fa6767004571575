/*
 * An object that is not trivially copyable is passed by address. An empty object is not passed at all.
 * @command: classes
 * @flags: -q
 * @replace: ^\d+\n -> 
 */
pid$target:a.out:guarded*:entry
{
	printf("%d %d\n", args[0].id, args[1]);
}
pid$target:a.out:make_guard*:return
{
	printf("made %d\n", args[1].id);
}
pid$target:a.out:after_nothing*:entry
{
	printf("%d %d\n", args[1], *args[2]);
}
