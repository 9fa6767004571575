/*
 * A program may redefine a name that a library defines if #pragma D binding says the name is newer than -x version.
 * @flags: -q -L library -x version=1.5
 */
BEGIN { newer = 1; printf("%d %d\n", newer, older); exit(0); }
