/* The attributes in #pragma D attributes must have three parts. */
#pragma D attributes Stable/Stable x
int x;
BEGIN { exit(0); }
