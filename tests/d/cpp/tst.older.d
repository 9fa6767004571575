/*
 * -X chooses whose C the preprocessor reads: before ISO's, macros were put into strings.
 * @flags: -qC -X s
 */
#define SAY(x) "x"
BEGIN { printf("%s\n", SAY(hello)); exit(0); }
