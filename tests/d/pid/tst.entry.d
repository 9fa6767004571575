/*
 * An entry probe fires at each call.
 * @command: spin 10 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:entry { n++; }
END { printf("%d\n", n); }
