/*
 * Dereferencing a null pointer of the target is a fault.
 * @command: records
 * @flags: -q
 * @replace: ^\d+ count exactly\n -> 
 */
pid$target:a.out:visit:entry
{
	printf("%d\n", args[0]->next->next->at.x);
}
dtrace:::ERROR
{
	printf("fault %d at %d\n", arg4, arg5);
}
pid$target:a.out:visit:entry
{
	printf("on\n");
}
