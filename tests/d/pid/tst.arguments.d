/*
 * arg0 to arg9 are the arguments, including those on the stack.
 * @command: spin 1 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:ten:entry
{
	printf("%d %d %d %d %d ", arg0, arg1, arg2, arg3, arg4);
	printf("%d %d %d %d %d\n", arg5, arg6, arg7, arg8, arg9);
}
