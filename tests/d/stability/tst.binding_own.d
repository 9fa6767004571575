/*
 * A declaration is ignored if #pragma D binding says that it is newer than -x version.
 * @flags: -q -x version=1.5
 */
#pragma D binding "1.6" x
string x;
BEGIN { x = 3; printf("%d\n", x); exit(0); }
