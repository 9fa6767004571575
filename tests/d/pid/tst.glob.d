/*
 * A description may name functions with a glob.
 * @command: spin 10 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:o?t*:entry { @[probefunc] = count(); }
END { printa("%s %@d\n", @); }
