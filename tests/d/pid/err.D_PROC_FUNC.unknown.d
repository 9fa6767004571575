/*
 * A function in a description must exist.
 * @command: spin 1 1
 */
pid$target:a.out:no_such_function:entry { exit(0); }
