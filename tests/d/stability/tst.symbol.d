/*
 * The stability of a symbol of the target is Private.
 * @flags: -e -v
 * @command: spin 1
 * @stderr
 */
BEGIN { trace(&a.out`main); }
