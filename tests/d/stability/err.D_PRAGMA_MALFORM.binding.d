/* The version in #pragma D binding must have two or three numbers. */
#pragma D binding "one" x
int x;
BEGIN { exit(0); }
