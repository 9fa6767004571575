/*
 * A symbol of the target is private to it.
 * @flags: -x amin=Stable/Stable/Common
 * @command: spin 1
 */
BEGIN { trace(&a.out`main); exit(0); }
