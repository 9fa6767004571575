/*
 * A struct that is passed by value in registers is not available.
 * @command: records
 */
pid$target:a.out:mixed:entry
{
	trace(args[3].x);
}
