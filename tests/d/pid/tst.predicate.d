/*
 * A predicate selects some of the calls.
 * @command: spin 20 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:entry / arg0 % 5 == 0 / { @ = sum(arg0); }
END { printa("%@d\n", @); }
