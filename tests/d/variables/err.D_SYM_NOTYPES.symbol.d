/*
 * A function of the target has no type; only its address can be read.
 * @command: stages
 */
BEGIN { trace(a.out`main); exit(0); }
