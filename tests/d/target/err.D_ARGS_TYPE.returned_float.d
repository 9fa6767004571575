/*
 * What a function returns in a floating-point register cannot be had.
 * @command: records
 */
pid$target:a.out:make_double:return
{
	trace(args[1]);
}
