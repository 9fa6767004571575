/*
 * A type of a module without debug data: says so, and what would help.
 * @command: classes
 */
pid$target:a.out:guarded*:entry
{
	trace(((struct libstdc++.so.6`_Rep *)arg0)->flags);
}
