/*
 * A program may redefine a library's name if #pragma D binding makes the name newer than -x version.
 * @flags: -q -L library -x version=1.5
 */
BEGIN { newer = 1; printf("%d %d\n", newer, older); exit(0); }
