/*
 * #pragma D binding sets the first version in which an identifier exists.
 * @flags: -q
 */
#pragma D binding "1.0" x
int x;
BEGIN { x = 2; printf("%d\n", x); exit(0); }
