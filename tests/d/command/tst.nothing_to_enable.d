/*
 * A program that enables no probe ends at once, with status 1.
 * @flags: -x empty
 * @stderr
 * @exit: 1
 */
inline int one = 1;
