#!/usr/sbin/dtrace -Cs
/*
 * The first line of a script is for the kernel, not for the preprocessor.
 * @flags: -qC
 */
BEGIN { printf("ran\n"); exit(0); }
