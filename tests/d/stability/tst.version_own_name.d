/*
 * Names that came later are free for those of an old program.
 * @flags: -q -x version=1.1
 */
#pragma D option version=1.0
int ustackdepth;
inline int index = 7;
BEGIN { ustackdepth = 5; ucaller["x"] = index; printf("%d %d\n", ustackdepth, ucaller["x"]); exit(0); }
