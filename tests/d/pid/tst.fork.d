/*
 * By default, a forked child runs untraced.
 * @command: forker 3
 * @replace: ^[^0-9].*\n -> 
 * @flags: -q
 */
pid$target:a.out:main:entry { n++; }
END { printf("%d\n", n); }
