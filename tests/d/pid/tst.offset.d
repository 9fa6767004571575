/*
 * A hexadecimal probe name is an offset in the function.
 * @command: spin 10 1
 * @replace: ^calls .*\n -> 
 * @flags: -q
 */
pid$target:a.out:work:0 { n++; }
END { printf("%d\n", n); }
