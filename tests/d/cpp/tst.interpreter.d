#!/usr/sbin/dtrace -Cs
/*
 * The #! line of a script is not passed to the preprocessor.
 * @flags: -qC
 */
BEGIN { printf("ran\n"); exit(0); }
