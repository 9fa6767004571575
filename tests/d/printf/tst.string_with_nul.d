/*
 * A string ends at its first NUL.
 * @flags: -q
 */
BEGIN { printf("[%s] %d\n", "ab\0cd", strlen("ab\0cd")); exit(0); }
