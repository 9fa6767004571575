/*
 * A value that a function returns in a floating-point register is not available.
 * @command: records
 */
pid$target:a.out:make_double:return
{
	trace(args[1]);
}
