/*
 * The error for args[] of a function without debug data suggests a remedy.
 * @command: classes
 */
pid$target:libstdc*:_ZNSo5flushEv:entry
{
	trace(args[0]);
}
