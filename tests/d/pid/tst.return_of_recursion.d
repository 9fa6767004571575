/*
 * In all threads, the entry probe and the return probe fire once for each call.
 * @command: spin 50 4
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:outer:entry { @depth = sum(1); @n = count(); }
pid$target:a.out:outer:return { @depth = sum(-1); }
END { printa("%@d %@d\n", @depth, @n); }
