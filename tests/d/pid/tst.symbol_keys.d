/*
 * Symbols may be keys of an aggregation.
 * @command: spin 3 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:entry { @[ufunc(ucaller)] = count(); }
