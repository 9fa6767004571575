/*
 * A program may redefine a library's name if -x version is older than the name's #pragma D binding.
 * @flags: -q -L library -x version=1.5
 */
BEGIN { newer = 1; printf("%d %d\n", newer, older); exit(0); }
