/*
 * A small struct by value lies in registers.
 * @command: records
 */
pid$target:a.out:mixed:entry
{
	trace(args[3].x);
}
