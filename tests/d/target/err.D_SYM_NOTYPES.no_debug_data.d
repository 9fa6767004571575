/*
 * A variable without debug data has no type, but an address.
 * @command: classes
 */
pid$target:a.out:guarded*:entry
{
	trace(libstdc++.so.6`_ZSt4cout);
}
