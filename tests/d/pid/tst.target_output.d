/*
 * The target runs as it would alone.
 * @command: spin 10 1
 * @flags: -q
 */
pid$target:a.out::entry, pid$target:a.out::return { n++; }
END { printf("%d\n", n > 20); }
