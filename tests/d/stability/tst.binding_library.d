/*
 * A program may redefine a library's name that #pragma D binding makes newer than -x version.
 * @flags: -q -L library -x version=1.5
 */
BEGIN { newer = 1; printf("%d %d\n", newer, older); exit(0); }
