/*
 * #pragma D attributes sets the stability of an identifier of the program.
 * @flags: -q
 */
#pragma D attributes Stable/Evolving/Common x
int x;
BEGIN { x = 1; printf("%d\n", x); exit(0); }
