/*
 * An enum prints as its number.
 * @flags: -q
 */
enum e { A = 3 };
enum e v;

BEGIN { v = A; printf("%d %d %x\n", A, v, v); exit(0); }
