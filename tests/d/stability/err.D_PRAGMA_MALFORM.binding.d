/* A version has two or three numbers. */
#pragma D binding "one" x
int x;
BEGIN { exit(0); }
