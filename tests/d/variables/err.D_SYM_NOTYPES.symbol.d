/*
 * A function in the target has no type, so only its address can be read.
 * @command: stages
 */
BEGIN { trace(a.out`main); exit(0); }
