/*
 * The target's variables, even static variables, can be read, and & returns their addresses.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
{
	printf("%d %d %s %d\n", a.out`rounds, a.out`origin.y, stringof(a.out`motto),
	    *&a.out`rounds == a.out`rounds);
	@[a.out`rounds] = count();
}
pid$target:a.out:visit:entry
/a.out`rounds == 2/
{
	printf("%d\n", *(int *)copyin((uintptr_t)&a.out`rounds, sizeof (int)));
	print(a.out`origin);
	printf("\n%d\n", pid$target`rounds + `rounds);
}
