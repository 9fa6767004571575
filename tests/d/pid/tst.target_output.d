/*
 * The output of the target is the same as without tracing.
 * @command: spin 10 1
 * @flags: -q
 */
pid$target:a.out::entry, pid$target:a.out::return { n++; }
END { printf("%d\n", n > 20); }
