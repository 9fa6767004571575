/*
 * A program for an old version of D may define names that a later version introduced.
 * @flags: -q -x version=1.1
 */
#pragma D option version=1.0
int ustackdepth;
inline int index = 7;
BEGIN { ustackdepth = 5; ucaller["x"] = index; printf("%d %d\n", ustackdepth, ucaller["x"]); exit(0); }
