/*
 * -X selects the dialect of the preprocessor: before ISO C, it expanded parameters in strings.
 * @flags: -qC -X s
 */
#define SAY(x) "x"
BEGIN { printf("%s\n", SAY(hello)); exit(0); }
