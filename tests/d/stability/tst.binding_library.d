/*
 * A library's name is free for a program's where #pragma D binding says that it came later.
 * @flags: -q -L library -x version=1.5
 */
BEGIN { newer = 1; printf("%d %d\n", newer, older); exit(0); }
