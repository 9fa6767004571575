/*
 * args[] of a function without debug data: says so, and what helps.
 * @command: classes
 */
pid$target:libstdc*:_ZNSo5flushEv:entry
{
	trace(args[0]);
}
