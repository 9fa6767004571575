/*
 * A declaration is ignored if its #pragma D binding is newer than -x version.
 * @flags: -q -x version=1.5
 */
#pragma D binding "1.6" x
string x;
BEGIN { x = 3; printf("%d\n", x); exit(0); }
