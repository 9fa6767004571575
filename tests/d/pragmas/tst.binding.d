/*
 * #pragma D binding gives the first version that has an identifier.
 * @flags: -q
 */
#pragma D binding "1.0" x
int x;
BEGIN { x = 2; printf("%d\n", x); exit(0); }
