/*
 * -e compiles and does not trace.
 * @flags: -e
 * @stderr
 */
BEGIN { printf("never\n"); exit(7); }
