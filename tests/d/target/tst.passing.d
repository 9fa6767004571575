/*
 * An argument is read correctly, regardless of the types of the arguments before it.
 * @command: passing
 * @flags: -q
 * @replace: ^sum \d+\n -> 
 */
pid$target:a.out:complexes:entry
{
	printf("%d\n", args[3]);
}
pid$target:a.out:wide:entry
{
	printf("%d %d\n", args[3], args[5]);
}
pid$target:a.out:structs:entry
{
	printf("%d %d %d %d %d\n", args[2].i, args[5], args[6].b, args[7], args[8]);
}
pid$target:a.out:on_stack:entry
{
	printf("%d %d %d\n", args[1], args[2].i, args[4].i);
	print(args[5]);
	printf("\n");
}
pid$target:a.out:returns_extended:entry,
pid$target:a.out:returns_complex:entry
{
	printf("%s %d %d\n", probefunc, args[0], args[1]);
}
pid$target:a.out:returns_packed:entry
{
	printf("%s %d %d\n", probefunc, args[0], args[1]);
}
pid$target:a.out:returns_packed:return
{
	printf("%d\n", args[1].i);
}
