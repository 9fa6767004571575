/*
 * An argument in a floating-point register cannot be had.
 * @command: records
 */
pid$target:a.out:mixed:entry
{
	trace(args[1]);
}
