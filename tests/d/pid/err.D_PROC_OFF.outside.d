/*
 * An offset must be inside its function.
 * @command: spin 1 1
 */
pid$target:a.out:work:ffff { exit(0); }
