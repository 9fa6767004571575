/*
 * A macro argument may name the function.
 * @command: spin 4 1
 * @args: outer
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:$1:entry { n++; }
END { printf("%s %d\n", $$1, n); }
