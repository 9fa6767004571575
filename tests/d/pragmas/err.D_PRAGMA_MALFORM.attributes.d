/* #pragma D attributes has three parts. */
#pragma D attributes Stable/Stable x
int x;
BEGIN { exit(0); }
