/*
 * An argument in a floating-point register is not available.
 * @command: records
 */
pid$target:a.out:mixed:entry
{
	trace(args[1]);
}
