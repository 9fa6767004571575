/*
 * -e compiles the program but does not trace.
 * @flags: -e
 * @stderr
 */
BEGIN { printf("never\n"); exit(7); }
