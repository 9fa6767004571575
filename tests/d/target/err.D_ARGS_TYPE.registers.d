/*
 * A small struct that is passed by value is in registers.
 * @command: records
 */
pid$target:a.out:mixed:entry
{
	trace(args[3].x);
}
