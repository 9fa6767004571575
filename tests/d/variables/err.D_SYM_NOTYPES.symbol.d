/*
 * A symbol of the target has no type: its address alone is read.
 * @command: stages
 */
BEGIN { trace(a.out`main); exit(0); }
