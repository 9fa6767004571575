/*
 * raise sends a signal to the target.
 * @flags: -q -w
 * @command: spin 10 1
 */
pid$target:a.out:work:entry / arg0 == 5 / { raise(SIGTERM); }
pid$target:a.out:work:entry { n++; }
END { printf("%d\n", n); }
