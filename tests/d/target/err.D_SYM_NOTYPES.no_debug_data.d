/*
 * A variable without debug data has an address but no type.
 * @command: classes
 */
pid$target:a.out:guarded*:entry
{
	trace(libstdc++.so.6`_ZSt4cout);
}
