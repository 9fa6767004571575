/*
 * A program that enables no probe ends immediately with status 1.
 * @flags: -x empty
 * @stderr
 * @exit: 1
 */
inline int one = 1;
