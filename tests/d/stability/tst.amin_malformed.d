/*
 * The value of -x amin must have three parts.
 * @flags: -x amin=Stable
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
