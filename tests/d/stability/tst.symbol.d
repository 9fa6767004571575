/*
 * A symbol of the target is private to it.
 * @flags: -e -v
 * @command: spin 1
 * @stderr
 */
BEGIN { trace(&a.out`main); }
