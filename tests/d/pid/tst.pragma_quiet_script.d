/*
 * A script may set its options itself.
 * @command: spin 4 1
 * @replace: ^calls .*\n -> 
 */
#pragma D option quiet
#pragma D option aggsortrev
pid$target:a.out:work:entry { @[arg0] = sum(arg0 * 10); }
END { printa("%d %@d\n", @); }
