/*
 * The error for a type of a module without debug data suggests a remedy.
 * @command: classes
 */
pid$target:a.out:guarded*:entry
{
	trace(((struct libstdc++.so.6`_Rep *)arg0)->flags);
}
