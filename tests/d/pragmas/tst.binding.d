/*
 * #pragma D binding says since which version an identifier is there.
 * @flags: -q
 */
#pragma D binding "1.0" x
int x;
BEGIN { x = 2; printf("%d\n", x); exit(0); }
