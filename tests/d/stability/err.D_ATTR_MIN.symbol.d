/*
 * The stability of a symbol of the target is Private.
 * @flags: -x amin=Stable/Stable/Common
 * @command: spin 1
 */
BEGIN { trace(&a.out`main); exit(0); }
