/*
 * With -X s, the preprocessor expands parameters in strings, as was usual before ISO C.
 * @flags: -qC -X s
 */
#define SAY(x) "x"
BEGIN { printf("%s\n", SAY(hello)); exit(0); }
